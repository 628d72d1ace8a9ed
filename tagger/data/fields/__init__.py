"""Fields that AllenNLP lacks."""

from tagger.data.fields.tag_field import TagField as TagField
