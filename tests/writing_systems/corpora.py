"""A dozen short sentences with persons and places in each of eleven scripts, from templates."""

import re
import unicodedata
from typing import List

from tagger.data.formats import AnnotatedText, Annotation

_PARTS = {
    "Hindi": (
        ["{PER} {LOC} में रहता है।", "कल {PER} ने {LOC} की यात्रा की।", "क्या {PER} को {LOC} पसंद है?"],
        ["राम शर्मा", "सीता", "मोहन", "क्षितिज वर्मा"],
        ["दिल्ली", "मुंबई", "कोलकाता", "श्रीनगर"],
    ),
    "Bengali": (
        ["{PER} {LOC} শহরে থাকেন।", "গতকাল {PER} {LOC} গিয়েছিলেন।", "{PER} কি {LOC} চেনেন?"],
        ["রবীন্দ্র", "শ্রেয়া দত্ত", "অনিল", "সুমিত্রা"],
        ["ঢাকা", "কলকাতা", "চট্টগ্রাম", "সিলেট"],
    ),
    "Thai": (
        ["{PER}อยู่ที่{LOC}", "เมื่อวาน{PER}ไป{LOC}กับแม่", "{PER}ชอบ{LOC}มาก"],
        ["สมชาย", "สมหญิง", "วิชัย", "น้ำฝน"],
        ["กรุงเทพ", "เชียงใหม่", "ภูเก็ต", "ขอนแก่น"],
    ),
    "Arabic": (
        ["يَسْكُنُ {PER} فِي {LOC}.", "سَافَرَ {PER} إِلَى {LOC} أَمْسِ.", "هَلْ يُحِبُّ {PER} مَدِينَةَ {LOC}؟"],
        ["مُحَمَّدٌ", "فَاطِمَةُ", "عَلِيٌّ", "زَيْـنَبُ"],
        ["القَاهِرَةِ", "دِمَشْقَ", "بَغْدَادَ", "تُونِسَ"],
    ),
    "Hebrew": (
        ["{PER} נסע אל {LOC}.", "אתמול {PER} היה ליד {LOC}.", "האם {PER} מכיר את {LOC}?"],
        ["דָּוִד", "רָחֵל", "מֹשֶׁה", 'רמב"ם'],
        ["יְרוּשָׁלַיִם", "חֵיפָה", "תֵּל אָבִיב", "אֵילַת"],
    ),
    "Chinese": (
        ["{PER}住在{LOC}。", "昨天{PER}去了{LOC}！", "{PER}在{LOC}的Google公司工作。"],
        ["王小明", "李娜", "张伟", "刘洋"],
        ["北京", "上海", "广州", "西安"],
    ),
    "Japanese": (
        [
            "{PER}は{LOC}に住んでいる。",
            "昨日{PER}が{LOC}へ行った。",
            "{PER}さんは{LOC}が好きですか？",
        ],
        ["田中さくら", "𠮷田", "山本タロウ", "鈴木"],
        ["東京", "大阪", "京都", "札幌"],
    ),
    "Korean": (
        ["{PER}는 {LOC}에 산다.", "어제 {PER}가 {LOC}로 갔다.", "{PER}도 {LOC}를 좋아하니?"],
        ["김민수", "이영희", "박지훈", "최수진"],
        ["서울", "부산", "대구", "제주"],
    ),
    "Russian": (
        ["{PER} живёт в {LOC}.", "Вчера {PER} работал в {LOC}.", "Был ли {PER} в {LOC}?"],
        ["Иван Петров", "Анна", "Оле́г", "Мария"],
        ["Москве", "Казани", "Туле", "Твери"],
    ),
    "Vietnamese": (
        ["{PER} sống ở {LOC}.", "Hôm qua {PER} đã đến {LOC}.", "{PER} có thích {LOC} không?"],
        ["Nguyễn Văn An", "Trần Thị Hoa", "Lê Minh", "Phạm Dũng"],
        ["Hà Nội", "Đà Nẵng", "Huế", "Cần Thơ"],
    ),
    "Greek": (
        ["Ο {PER} μένει στην {LOC}.", "Χθες ο {PER} πήγε στην {LOC}.", "Ξέρει ο {PER} την {LOC};"],
        ["Γιώργος", "Μαρία", "Νίκος", "Ελένη"],
        ["Αθήνα", "Πάτρα", "Χανιά", "Βόλο"],
    ),
}
LANGUAGES = list(_PARTS)
#: In these, entities begin and end inside what blanks divide, or there are none.
BY_CHARACTERS = ["Chinese", "Japanese", "Thai", "Korean"]


def texts_in(language: str) -> List[AnnotatedText]:
    """Returns the sentences with their entities. Those in Vietnamese are decomposed, as in NFD."""
    templates, persons, places = _PARTS[language]
    form = "NFD" if language == "Vietnamese" else "NFC"
    made = []
    for shift, template in enumerate(templates):
        for number, person in enumerate(persons):
            names = {"PER": person, "LOC": places[(number + shift) % len(places)]}
            text, entities = "", []
            for piece in re.split("({PER}|{LOC})", template):
                label = piece.strip("{}")
                own = unicodedata.normalize(form, names.get(label, piece))
                if label in names:
                    entities.append(Annotation(label, len(text), len(text) + len(own)))
                text += own
            made.append(AnnotatedText(text, entities, None, None, f"{language} {len(made)}", {}))
    return made
