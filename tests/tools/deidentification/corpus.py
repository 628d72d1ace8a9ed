"""A made-up corpus in the format of MEDDOCAN: folders of brat with Spanish clinical cases."""

import random

from tagger.data.formats import AnnotatedText, Annotation, write_texts

GIVEN = "Ada Bruno Carla Dario Elena Felix Greta Hugo Irene Julio Karla Lucas Marta Nicolas Olga".split()
FAMILY = (
    "Alba Bravo Cano Duran Espino Farras Gil Herrero Ibarra Jurado Lara Mena Nieto Ochoa".split()
)
TOWNS = (
    "Aldea Branca,Costa Nueva,Fuente Alta,Isla Verde,Monte Claro,Puerto Hondo,Villa Serena".split(
        ","
    )
)
COMPLAINTS = "fiebre alta,dolor de espalda,tos seca,cefalea leve,mareo y fatiga".split(",")
#: The parts of a case; those in braces are drawn, and labelled.
CASE = """Datos del paciente.
Nombre: {NOMBRE_SUJETO_ASISTENCIA}.
Localidad: {TERRITORIO}.
Fecha de ingreso: {FECHAS}.
Edad: {EDAD_SUJETO_ASISTENCIA}.
Informe clínico: El paciente {NOMBRE_SUJETO_ASISTENCIA} ingresa por %s desde hace 3 semanas.
Mejora con reposo y recibe el alta a los 5 días.
Remitido por: Dr. {NOMBRE_PERSONAL_SANITARIO}. Hospital de {TERRITORIO}.
"""


def write_corpus(folder, sizes=(("train", 60), ("dev", 15), ("test", 15))):
    """Writes a folder for each part of the corpus."""
    draw = random.Random(5)
    for name, size in sizes:
        write_texts((_case(draw) for _ in range(size)), folder / name, "brat")


def _case(draw):
    drawn = {
        "NOMBRE_SUJETO_ASISTENCIA": f"{draw.choice(GIVEN)} {draw.choice(FAMILY)}",
        "NOMBRE_PERSONAL_SANITARIO": f"{draw.choice(GIVEN)} {draw.choice(FAMILY)}",
        "TERRITORIO": draw.choice(TOWNS),
        "FECHAS": f"{draw.randint(1, 28)}/{draw.randint(1, 12)}/2016",
        "EDAD_SUJETO_ASISTENCIA": f"{draw.randint(18, 90)} años",
    }
    text, entities = "", []
    for piece in (CASE % draw.choice(COMPLAINTS)).split("{"):
        label, brace, rest = piece.rpartition("}")
        if brace:
            entities.append(Annotation(label, len(text), len(text) + len(drawn[label])))
            text += drawn[label]
        text += rest
    return AnnotatedText(text, entities, None, None, "", {})
