"""Languages as users write them, and the form that each side takes."""

import unicodedata

import pytest

from openproxy import languages
from openproxy.errors import UnknownLanguage
from openproxy.languages import Language

WHISPER = (
    "af am ar as az ba be bg bn bo br bs ca cs cy da de el en es et eu fa fi fo fr gl gu ha haw he hi hr ht hu hy id is "
    "it ja jw ka kk km kn ko la lb ln lo lt lv mg mi mk ml mn mr ms mt my ne nl nn no oc pa pl ps pt ro ru sa sd si sk "
    "sl sn so sq sr su sv sw ta te tg th tk tl tr tt uk ur uz vi yi yo yue zh"
)
CODES = WHISPER.split()


def test_the_table_is_whispers() -> None:
    assert list(languages.CODES) == CODES
    assert len(CODES) == 100


def test_it_agrees_with_the_model_library() -> None:
    from faster_whisper.tokenizer import _LANGUAGE_CODES

    assert sorted(languages.CODES) == sorted(_LANGUAGE_CODES)


def test_no_spelling_stands_for_two_languages() -> None:
    spellings = [word for code, words in languages._TABLE.items() for word in {code, *words}]
    assert len(spellings) == len(set(spellings))
    assert all(word == word.lower().strip() for word in spellings)


@pytest.mark.parametrize("code", CODES)
def test_each_code_and_name_lead_back_to_the_code(code: str) -> None:
    name = languages.name(code)
    assert name == name.lower()
    assert name != code
    for spelling in (code, code.upper(), name, name.title(), f"  {name.upper()}\n"):
        assert languages.normalise(spelling) == Language(code)


def test_no_name_stands_for_two_languages() -> None:
    bare: dict[str, set[str]] = {}
    for spelling, code in languages._SPELLINGS.items():
        bare.setdefault(languages._bare(spelling), set()).add(code)
    assert [(name, codes) for name, codes in bare.items() if len(codes) > 1 or not name] == []
    named = [name for code, names in languages._OWN_NAMES.items() for name in names]
    assert len(named) == len(set(named))
    assert set(languages._OWN_NAMES) < set(CODES)


@pytest.mark.parametrize("code", languages._OWN_NAMES)
def test_their_own_names_in_every_way_of_writing_them(code: str) -> None:
    for own in languages._OWN_NAMES[code]:
        for form in ("NFC", "NFD", "NFKC", "NFKD"):
            assert languages.normalise(unicodedata.normalize(form, own)) == Language(code)
        for spelling in (own.upper(), own.title(), f" {own} ", own.replace(" ", "_"), own.replace("ʻ", "’")):
            assert languages.normalise(spelling) == Language(code)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("Español", "es"),
        ("ESPANOL", "es"),
        ("Deutsch", "de"),
        ("DEUTSCH", "de"),
        ("日本語", "ja"),
        ("русский", "ru"),
        ("Русский язык", "ru"),
        ("français", "fr"),
        ("FRANÇAIS", "fr"),
        ("Francais", "fr"),
        ("turkce", "tr"),
        ("TÜRKÇE", "tr"),
        ("Tieng Viet", "vi"),
        ("Ελληνικα", "el"),
        ("O'zbek", "uz"),
        ("olelo hawaii", "haw"),
        ("bahasa-indonesia", "id"),
        ("ｅｎ", "en"),
        ("ＪＡ－ＪＰ", "ja"),
        ("spa", "es"),
        ("SPA", "es"),
        ("ger-AT", "de"),
    ],
)
def test_names_as_they_are_typed(value: str, code: str) -> None:
    language = languages.normalise(value)
    assert language is not None
    assert language.code == code
    assert languages.for_upstream(value, regions=False) == code


@pytest.mark.parametrize(
    "value", ["e's", "'", "ñ", "日本", "deutsch!", "français québécois", "es pa", "\u0301", "english\0"]
)
def test_what_only_looks_like_a_name_is_refused(value: str) -> None:
    with pytest.raises(UnknownLanguage, match="a name of these, or auto"):
        languages.normalise(value)


@pytest.mark.parametrize(
    ("value", "code", "region"),
    [
        ("es", "es", None),
        ("ES", "es", None),
        ("es-MX", "es", "MX"),
        ("es_MX", "es", "MX"),
        ("ES-mx", "es", "MX"),
        ("es-419", "es", "419"),
        ("spanish", "es", None),
        ("Spanish", "es", None),
        ("castilian", "es", None),
        ("pt-br", "pt", "BR"),
        ("zh-Hans", "zh", "Hans"),
        ("zh_hant_tw", "zh", "Hant-TW"),
        ("ZH-HANS-CN", "zh", "Hans-CN"),
        ("zh-yue", "yue", None),
        ("zh-cmn-Hans", "zh", "Hans"),
        ("mandarin", "zh", None),
        ("Cantonese", "yue", None),
        ("yue-HK", "yue", "HK"),
        ("ja-JP", "ja", "JP"),
        ("eng", "en", None),
        ("eng-US", "en", "US"),
        ("en-GB-oxendict", "en", "GB-oxendict"),
        ("ca-valencia", "ca", "valencia"),
        ("de-1996", "de", "1996"),
        ("ger", "de", None),
        ("deu", "de", None),
        ("flemish", "nl", None),
        ("Haitian_Creole", "ht", None),
        ("haitian-creole", "ht", None),
        ("haitian  creole", "ht", None),
        ("iw", "he", None),
        ("jv", "jw", None),
        ("nb-NO", "no", "NO"),
        ("Norwegian Bokmål", "no", None),
        ("fil", "tl", None),
        ("burmese", "my", None),
        ("Moldovan", "ro", None),
    ],
)
def test_spellings(value: str, code: str, region: str | None) -> None:
    found = languages.normalise(value)
    assert found == Language(code, region)
    assert found.tag == (f"{code}-{region}" if region else code)


@pytest.mark.parametrize("value", [None, "", "   ", "\t\n", "auto", "AUTO", " Auto "])
def test_absent_blank_and_auto_ask_for_detection(value: str | None) -> None:
    assert languages.normalise(value) is None
    assert languages.normalise(value, allowed=("en",)) is None
    assert languages.for_upstream(value, regions=True) is None


@pytest.mark.parametrize(
    "value",
    ["xx", "klingon", "e", "english-foo-bar-baz", "en-foo-bar", "en-", "-en", "en--US", "en US", "en-USA", "1", "en;q=1",
     "spanish-MX", "autos", "日本言葉", "en\x00"],
)  # fmt: skip
def test_unknown_values_are_refused_with_the_list(value: str) -> None:
    with pytest.raises(UnknownLanguage) as caught:
        languages.normalise(value)
    error = caught.value
    assert (error.status, error.param, error.code) == (400, "language", "invalid_language")
    assert error.message == (
        f"Language '{value.lower()}' is not one of the allowed values: {', '.join(CODES)}, a name of these, or auto"
    )


def test_only_what_the_model_knows_is_allowed() -> None:
    assert languages.normalise("English", allowed={"en", "de"}) == Language("en")
    with pytest.raises(UnknownLanguage) as caught:
        languages.normalise("es-MX", allowed={"en", "de"})
    assert caught.value.message == (
        "Language 'es-mx' is not one of the allowed values: de, en, a name of these, or auto"
    )


def test_a_long_value_is_not_repeated_whole() -> None:
    with pytest.raises(UnknownLanguage) as caught:
        languages.normalise("x" * 10_000)
    assert caught.value.message.startswith(f"Language '{'x' * 40}…' is not one")


@pytest.mark.parametrize(
    ("value", "plain", "regional"),
    [
        ("es", "es", "es"),
        ("es_mx", "es", "es-MX"),
        ("Spanish", "es", "es"),
        ("zh-hant", "zh", "zh-Hant"),
        ("eng-us", "en", "en-US"),
        ("xx", "xx", "xx"),
        ("Klingon ", "Klingon ", "Klingon "),
        ("multi", "multi", "multi"),
    ],
)
def test_the_form_that_a_provider_takes(value: str, plain: str, regional: str) -> None:
    assert languages.for_upstream(value, regions=False) == plain
    assert languages.for_upstream(value, regions=True) == regional


def test_names() -> None:
    assert languages.name("en") == "english"
    assert languages.name("en-US") == "english"
    assert languages.name("ht") == "haitian creole"
    assert languages.name("ga") == "ga"
