"""Sentences for the sampler tests."""

from allennlp.data import Instance, Token
from allennlp.data.fields import TextField

from tagger.data import TagField


def text_of(length):
    return TextField([Token("word")] * length)


def instance(tags):
    text = text_of(len(tags))
    return Instance({"tokens": text, "tags": TagField(tags, text, unknown_tag="?")})
