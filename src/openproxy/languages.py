"""Languages as people write them (codes, English names, regions, any case) -> one code that speech models know.

The table holds Whisper's languages under Whisper's own codes (its Javanese is `jw`, ISO says `jv`), each with its
English name, the ISO 639-2 and 639-3 codes, withdrawn ISO 639-1 codes, and the other names that are in use.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass

from openproxy.errors import UnknownLanguage

_TABLE: dict[str, tuple[str, ...]] = {
    "af": ("afrikaans", "afr"),
    "am": ("amharic", "amh"),
    "ar": ("arabic", "ara", "arb"),
    "as": ("assamese", "asm"),
    "az": ("azerbaijani", "aze", "azj", "azeri"),
    "ba": ("bashkir", "bak"),
    "be": ("belarusian", "bel", "byelorussian"),
    "bg": ("bulgarian", "bul"),
    "bn": ("bengali", "ben", "bangla"),
    "bo": ("tibetan", "bod", "tib"),
    "br": ("breton", "bre"),
    "bs": ("bosnian", "bos"),
    "ca": ("catalan", "cat", "valencian"),
    "cs": ("czech", "ces", "cze"),
    "cy": ("welsh", "cym", "wel"),
    "da": ("danish", "dan"),
    "de": ("german", "deu", "ger"),
    "el": ("greek", "ell", "gre"),
    "en": ("english", "eng"),
    "es": ("spanish", "spa", "castilian"),
    "et": ("estonian", "est", "ekk"),
    "eu": ("basque", "eus", "baq"),
    "fa": ("persian", "fas", "per", "pes", "farsi"),
    "fi": ("finnish", "fin"),
    "fo": ("faroese", "fao"),
    "fr": ("french", "fra", "fre"),
    "gl": ("galician", "glg"),
    "gu": ("gujarati", "guj"),
    "ha": ("hausa", "hau"),
    "haw": ("hawaiian",),
    "he": ("hebrew", "heb", "iw"),
    "hi": ("hindi", "hin"),
    "hr": ("croatian", "hrv"),
    "ht": ("haitian creole", "hat", "haitian"),
    "hu": ("hungarian", "hun"),
    "hy": ("armenian", "hye", "arm"),
    "id": ("indonesian", "ind", "in"),
    "is": ("icelandic", "isl", "ice"),
    "it": ("italian", "ita"),
    "ja": ("japanese", "jpn"),
    "jw": ("javanese", "jav", "jv"),
    "ka": ("georgian", "kat", "geo"),
    "kk": ("kazakh", "kaz"),
    "km": ("khmer", "khm", "cambodian"),
    "kn": ("kannada", "kan"),
    "ko": ("korean", "kor"),
    "la": ("latin", "lat"),
    "lb": ("luxembourgish", "ltz", "letzeburgesch"),
    "ln": ("lingala", "lin"),
    "lo": ("lao", "laotian"),
    "lt": ("lithuanian", "lit"),
    "lv": ("latvian", "lav", "lvs"),
    "mg": ("malagasy", "mlg", "plt"),
    "mi": ("maori", "mri", "mao", "māori"),
    "mk": ("macedonian", "mkd", "mac"),
    "ml": ("malayalam", "mal"),
    "mn": ("mongolian", "mon", "khk"),
    "mr": ("marathi", "mar"),
    "ms": ("malay", "msa", "may", "zsm"),
    "mt": ("maltese", "mlt"),
    "my": ("myanmar", "mya", "bur", "burmese"),
    "ne": ("nepali", "nep", "npi"),
    "nl": ("dutch", "nld", "dut", "flemish"),
    "nn": ("nynorsk", "nno", "norwegian nynorsk"),
    "no": ("norwegian", "nor", "nb", "nob", "bokmål", "bokmal", "norwegian bokmål", "norwegian bokmal"),
    "oc": ("occitan", "oci"),
    "pa": ("punjabi", "pan", "panjabi"),
    "pl": ("polish", "pol"),
    "ps": ("pashto", "pus", "pbt", "pushto"),
    "pt": ("portuguese", "por"),
    "ro": ("romanian", "ron", "rum", "mo", "mol", "moldavian", "moldovan"),
    "ru": ("russian", "rus"),
    "sa": ("sanskrit", "san"),
    "sd": ("sindhi", "snd"),
    "si": ("sinhala", "sin", "sinhalese"),
    "sk": ("slovak", "slk", "slo"),
    "sl": ("slovenian", "slv", "slovene"),
    "sn": ("shona", "sna"),
    "so": ("somali", "som"),
    "sq": ("albanian", "sqi", "alb", "als"),
    "sr": ("serbian", "srp"),
    "su": ("sundanese", "sun"),
    "sv": ("swedish", "swe"),
    "sw": ("swahili", "swa", "swh", "kiswahili"),
    "ta": ("tamil", "tam"),
    "te": ("telugu", "tel"),
    "tg": ("tajik", "tgk"),
    "th": ("thai", "tha"),
    "tk": ("turkmen", "tuk"),
    "tl": ("tagalog", "tgl", "fil", "filipino"),
    "tr": ("turkish", "tur"),
    "tt": ("tatar", "tat"),
    "uk": ("ukrainian", "ukr"),
    "ur": ("urdu", "urd"),
    "uz": ("uzbek", "uzb", "uzn"),
    "vi": ("vietnamese", "vie"),
    "yi": ("yiddish", "yid", "ydd", "ji"),
    "yo": ("yoruba", "yor"),
    "yue": ("cantonese",),
    "zh": ("chinese", "zho", "chi", "cmn", "mandarin", "mandarin chinese"),
}

CODES: tuple[str, ...] = tuple(_TABLE)
"""The code of every language in the table."""

_SPELLINGS = {spelling: code for code, spellings in _TABLE.items() for spelling in (code, *spellings)}
_EXTENDED = {"zh-cmn": "zh", "zh-yue": "yue"}
"""Language tags that name the language in a second subtag (RFC 5646, section 2.2.2)."""

_TAG = re.compile(
    r"""(?P<language>[a-z]{2,3}(?:-(?:cmn|yue))?)
        (?:-(?P<script>[a-z]{4}))?
        (?:-(?P<region>[a-z]{2}|[0-9]{3}))?
        (?P<variants>(?:-(?:[a-z][a-z0-9]{4,7}|[0-9][a-z0-9]{3}))*)""",
    re.VERBOSE,
)
"""What of RFC 5646, section 2.1 names a kind of speech: language, script, region, variants."""

_DETECT = ("", "auto")
_SHOWN = 40
"""Characters of a refused value that its message repeats."""


@dataclass(frozen=True, slots=True)
class Language:
    """A language of the table, and the region that the speaker's kind of it was given with."""

    code: str
    """`es`: one of CODES."""
    region: str | None = None
    """What followed the code, in the usual case: `MX`, `419`, `Hans`, `Hant-TW`."""

    @property
    def tag(self) -> str:
        """Code and region: `es-MX`."""
        return f"{self.code}-{self.region}" if self.region else self.code


def normalise(value: str | None, allowed: Collection[str] | None = None) -> Language | None:
    """The language that `value` names; None where it is absent, blank or `auto`, which asks for detection.

    `allowed` are the codes that the loaded model knows; None is all of CODES. Raises UnknownLanguage, which lists them.
    """
    asked = _plain(value)
    if asked in _DETECT:
        return None
    known = CODES if allowed is None else tuple(sorted(allowed))
    language = _find(asked)
    if language is None or language.code not in known:
        shown = asked if len(asked) <= _SHOWN else asked[:_SHOWN] + "…"
        raise UnknownLanguage(
            f"Language '{shown}' is not one of the allowed values: {', '.join(known)}, an English name of these, or auto",
            param="language",
        )
    return language


def for_upstream(value: str | None, *, regions: bool) -> str | None:
    """`value` in the form that a provider takes: the code, with its region where `regions` are understood.

    None where it is absent, blank or `auto`; a value that is not known is returned as it came, for the provider to
    judge (contracts/gateway.md, decision 14).
    """
    asked = _plain(value)
    if asked in _DETECT:
        return None
    language = _find(asked)
    if language is None:
        return value
    return language.tag if regions else language.code


def name(code: str) -> str:
    """The English name in lower case, as OpenAI writes it (`english`); a code that is not in the table stays as it is."""
    language = _find(_plain(code))
    return code if language is None else _TABLE[language.code][0]


def _plain(value: str | None) -> str:
    return " ".join((value or "").split()).lower()


def _find(asked: str) -> Language | None:
    dashed = asked.replace("_", "-")
    code = _SPELLINGS.get(asked) or _SPELLINGS.get(dashed.replace("-", " "))
    if code is not None:
        return Language(code)
    tag = _TAG.fullmatch(dashed)
    if tag is None:
        return None
    primary = tag["language"]
    code = _EXTENDED.get(primary) or _SPELLINGS.get(primary)
    if code is None:
        return None
    parts = ((tag["script"] or "").title(), (tag["region"] or "").upper(), tag["variants"].strip("-"))
    return Language(code, "-".join(part for part in parts if part) or None)
