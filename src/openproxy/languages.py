"""Languages as people write them (codes, names, regions, any case) -> one code that speech models know.

The table holds Whisper's languages under Whisper's own codes (its Javanese is `jw`, ISO says `jv`), each with its
English name, the ISO 639-2 and 639-3 codes, withdrawn ISO 639-1 codes, and the other names that are in use. A second
one holds what the languages are called in themselves.
"""

import re
import unicodedata
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

_OWN_NAMES: dict[str, tuple[str, ...]] = {
    "am": ("አማርኛ",),
    "ar": ("العربية", "عربي", "عربية"),
    "as": ("অসমীয়া",),
    "az": ("azərbaycan", "azərbaycanca", "azərbaycan dili"),
    "ba": ("башҡорт", "башҡортса", "башҡорт теле"),
    "be": ("беларуская", "беларуская мова"),
    "bg": ("български", "български език"),
    "bn": ("বাংলা",),
    "bo": ("བོད་སྐད་", "བོད་སྐད", "བོད་ཡིག"),
    "br": ("brezhoneg",),
    "bs": ("bosanski",),
    "ca": ("català", "valencià"),
    "cs": ("čeština", "česky"),
    "cy": ("cymraeg",),
    "da": ("dansk",),
    "de": ("deutsch",),
    "el": ("ελληνικά", "ελληνική"),
    "es": ("español", "castellano"),
    "et": ("eesti", "eesti keel"),
    "eu": ("euskara", "euskera"),
    "fa": ("فارسی",),
    "fi": ("suomi", "suomen kieli"),
    "fo": ("føroyskt",),
    "fr": ("français",),
    "gl": ("galego",),
    "gu": ("ગુજરાતી",),
    "ha": ("harshen hausa",),
    "haw": ("ʻōlelo hawaiʻi",),
    "he": ("עברית",),
    "hi": ("हिन्दी", "हिंदी"),
    "hr": ("hrvatski",),
    "ht": ("kreyòl ayisyen", "kreyòl"),
    "hu": ("magyar",),
    "hy": ("հայերեն",),
    "id": ("indonesia", "bahasa indonesia"),
    "is": ("íslenska",),
    "it": ("italiano",),
    "ja": ("日本語",),
    "jw": ("jawa", "basa jawa"),
    "ka": ("ქართული",),
    "kk": ("қазақ тілі", "қазақша", "қазақ"),
    "km": ("ខ្មែរ", "ភាសាខ្មែរ"),
    "kn": ("ಕನ್ನಡ",),
    "ko": ("한국어", "한국말"),
    "la": ("latina", "lingua latina"),
    "lb": ("lëtzebuergesch",),
    "ln": ("lingála",),
    "lo": ("ລາວ", "ພາສາລາວ"),
    "lt": ("lietuvių", "lietuvių kalba"),
    "lv": ("latviešu", "latviešu valoda"),
    "mi": ("te reo māori",),
    "mk": ("македонски", "македонски јазик"),
    "ml": ("മലയാളം",),
    "mn": ("монгол", "монгол хэл"),
    "mr": ("मराठी",),
    "ms": ("melayu", "bahasa melayu"),
    "mt": ("malti",),
    "my": ("မြန်မာ", "မြန်မာဘာသာ"),
    "ne": ("नेपाली",),
    "nl": ("nederlands", "vlaams"),
    "nn": ("norsk nynorsk",),
    "no": ("norsk", "norsk bokmål"),
    "pa": ("ਪੰਜਾਬੀ", "پنجابی"),
    "pl": ("polski", "język polski"),
    "ps": ("پښتو",),
    "pt": ("português",),
    "ro": ("română", "limba română"),
    "ru": ("русский", "русский язык"),
    "sa": ("संस्कृत भाषा", "संस्कृतम्", "संस्कृत"),
    "sd": ("سنڌي", "सिन्धी"),
    "si": ("සිංහල",),
    "sk": ("slovenčina", "slovensky"),
    "sl": ("slovenščina",),
    "sn": ("chishona",),
    "so": ("soomaali", "af soomaali"),
    "sq": ("shqip", "gjuha shqipe"),
    "sr": ("српски", "srpski", "српски језик"),
    "su": ("basa sunda", "sunda"),
    "sv": ("svenska",),
    "ta": ("தமிழ்",),
    "te": ("తెలుగు",),
    "tg": ("тоҷикӣ", "забони тоҷикӣ"),
    "th": ("ไทย", "ภาษาไทย"),
    "tk": ("türkmen dili", "türkmençe", "türkmen"),
    "tr": ("türkçe",),
    "tt": ("татар", "татарча", "татар теле"),
    "uk": ("українська", "українська мова"),
    "ur": ("اردو",),
    "uz": ("oʻzbek", "oʻzbekcha", "oʻzbek tili", "ўзбек", "ўзбекча"),
    "vi": ("tiếng việt",),
    "yi": ("ייִדיש",),
    "yo": ("èdè yorùbá",),
    "yue": ("粵語", "粤语", "廣東話", "广东话", "廣州話", "广州话"),
    "zh": ("中文", "汉语", "漢語", "普通话", "普通話", "國語", "国语", "简体中文", "繁體中文", "華語", "华语"),
}
"""What the languages are called by those who speak them, where that differs (Unicode CLDR 48, and other usual names)."""

CODES: tuple[str, ...] = tuple(_TABLE)
"""The code of every language in the table."""


def _plain(value: str | None) -> str:
    """In lower case and in one of the ways in which Unicode writes the same characters."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", value or "").casefold())
    return " ".join(folded.split())


def _bare(plain: str) -> str:
    """Without accents, vowel points and apostrophes, as on a keyboard that does not have them."""
    kept = (char for char in unicodedata.normalize("NFD", plain) if unicodedata.category(char) not in _MARKS)
    return "".join(char for char in kept if char not in _APOSTROPHES)


_MARKS = ("Mn", "Lm")
_APOSTROPHES = "'‘’`"
_SPELLINGS = {
    _plain(spelling): code for code in _TABLE for spelling in (code, *_TABLE[code], *_OWN_NAMES.get(code, ()))
}
_BARE_NAMES = {bare: code for spelling, code in _SPELLINGS.items() if len(bare := _bare(spelling)) > 3}
"""Not of codes, which have no accents to leave out."""
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
            f"Language '{shown}' is not one of the allowed values: {', '.join(known)}, a name of these, or auto",
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


def _find(asked: str) -> Language | None:
    dashed = asked.replace("_", "-")
    words = dashed.replace("-", " ")
    code = _SPELLINGS.get(asked) or _SPELLINGS.get(words) or _BARE_NAMES.get(_bare(words))
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
