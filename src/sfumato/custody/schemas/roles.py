"""What each column of a table is: rules over names, values, and pairs of rows that share a value.

Rules are applied in a fixed order, and a later one sees only columns without a label. They work on dictionary-encoded
columns (pyarrow, numpy), need no engine, and never look at more than 20,000 pairs of rows.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.arrays import Floats

# --------------------------------------------------------------------------------------------------
# Labels, and words of names that speak for them, in several languages.


class Label(StrEnum):
    """What a column is."""

    ROW_NUMBER = "row number"
    IDENTIFIER = "identifier"
    UNIT = "unit"
    HOUSEHOLD = "household"
    WEIGHT = "weight"
    REPLICATE_WEIGHT = "replicate weight"
    STRATUM = "stratum"
    CLUSTER = "cluster"
    DATE = "date"
    FREE_TEXT = "free text"
    CONSTANT = "constant"
    DERIVED = "derived"
    SENSITIVE = "sensitive"
    QUASI_IDENTIFIER = "quasi-identifier"


Words = frozenset[str]


def _words(text: str) -> Words:
    return frozenset(text.split())


_ROW = _words(
    "rownames row.names row_names rowname rownum row_number rownumber row index idx unnamed x x1 obs obsno observation lfd lfdnr "
    "laufnr rang n no nr num number seq rn rowid column0 column00 column000 _n_"
)
_PERSON = _words(
    "person persons subject subj subjid usubjid patient patientid pat patid pid mrn respondent respid respondentid caseid seqn "
    "idno uid user userid customer customerid client clientid member employee staff player playerid student studentid pupil child "
    "childid kid kidid participant individual indiv panelist voter donor applicant policyholder insured worker teacher physician "
    "doctor mother mom idcode ident identifiant individu femme enfant eleve salarie proband teilnehmer kunde schueler versicherter "
    "fall persnr personid personnr paciente persona alumno cedula rut cpf dni nif curp folio expediente paziente codice studente "
    "nomem rinpersoon pnr cpr lopnr pidp mergeid rb030 pb030 cpsidp sampl sampleid"
)
_FIRM = _words(
    "firm firmid company companyid enterprise establishment utility cusip siren siret account acct policy policyid farm farmid "
    "business entity gvkey permno"
)
_HOUSEHOLD = _words(
    "household hh hhid hid hhnr hhno householdid family familyid famid fam menage foyer famille haushalt familie hogar vivienda "
    "codusu domicilio famiglia couple dwelling hidp db030 hb030 serial"
)
_PROVIDER = _words(
    "agent provider physician doctor teacher officer interviewer enumerator seller broker lecturer prescriber surgeon"
)
_MEASURE = _words(
    "years year at pct percent share count total mean avg rate size income age prev days type class status cat category educ "
    "education sex race ind ever any since last per ratio"
)
_PERSON_NUMBER = _words(
    "pernum persnum personno pnum pno nper componente line lineno relhead personid person member memberno nord hv003"
)
_NAME = _words(
    "name names firstname lastname surname fullname forename givenname maiden first last nom prenom nachname vorname nombre "
    "apellido apellidos cognome nome naam bioname alias nickname"
)
_SURE_NAME = _words("maiden firstname lastname surname fullname nachname vorname prenom apellido")
_NAME_OF_SOMETHING_ELSE = _words(
    "clinic county state city region department dept drug test file country school dist district product course hospital center "
    "centre unit team variable agency neighborhood mission trade dpto barrio loc brand column event category page table study "
    "project group dataset display chapter organization org"
)
_DIRECT = _words(
    "email mail phone telephone mobile fax ssn passport license licence drivers iban address street streetaddress username telefon "
    "ausweis sozialversicherungsnummer courriel passeport steuernummer adresse direccion endereco telefono login handle url ip "
    "docket nir"
)
_CLUSTER = _words(
    "psu cluster clust clus ssu upm upa ea segment segm sdmvpsu school schoolid class classroom schoolnr classnr center centre site "
    "siteid clinic hospital ward commune village municipality county district precinct dept department facility practice"
)
_SAMPLING_CLUSTER = _words("psu cluster clust upm upa sdmvpsu ssu")
_STRATUM = _words("stratum strata strat stra sdmvstra estrato estratos strate schicht vstrat")
_WEIGHT = _words(
    "weight weights wgt wgts wght gewicht gewichtung hochrechnung poids ponderation ponder pondera peso pesos pw wt wts fnlwgt "
    "finalwgt pwgtp wgtp perwt hhwt perweight pweight dweight anweight pspwght svywt rb050 pb040 db090 wtss wtssall llcpwt phrf "
    "hhrf hochrechnungsfaktor expansion"
)
_BARE_WEIGHT = _words("wt peso weight poids gewicht")
_BODY = _words("height ht hgt bmi stature taille groesse altura waist length lgth")
_TEXT = _words(
    "notes note comment comments desc description text remark remarks specify other verbatim narrative bemerkung commentaire "
    "remarque remarques observaciones motivation title esp"
)
_DATE = _words("date datum fecha dob")
_SENSITIVE = _words(
    "aids arrest belief cancer charge conviction credit crime criminal debt death dead died dth diagnoses diagnosis disability "
    "disease diseases drug drugs earnings ethnic_origin faith genetic health hiv illness income inc job medication occupation offence "
    "offense orientation pay political politics party pregnancy pregnant profession religion relig salary sexuality symptom symptoms "
    "treatment vote wage wages lwage wealth recid recidivism suicide result outcome status depress depression alcohol smoke marijuana "
    "abortion attrition churn default diabetes partyid polviews dx earn survived "
    "beruf diagnose einkommen gehalt gesundheit haftstrafe konfession krankheit lohn partei schulden schwangerschaft straftat "
    "behinderung vermogen condamnation delit dette diagnostic grossesse handicap maladie metier revenu revenus salaire sante "
    "traitement patrimoine salario ingreso ingresos renda doenca"
)
_SENSITIVE_STEMS = (
    *("einkommen", "krankheit", "diagnos", "gesundheit", "behinderung", "vermogen", "konfession", "schulden"),
    *("straftat", "schwangerschaft"),
)
_NOT_SENSITIVE = _words("marital maritalstatus employment civil")
_SEX = _words("sex gender sexe geschlecht sexo genere female male riagendr rb090 fml gender2 sx geslacht kon")
_BIRTH = _words("dob birthdate birthday brthdtc birth")
_RACE = _words(
    "race ethnicity ethnic ethn ethnie raza cor brthdtc born birthplace racegrp black hispanic dob birthdate birthday birth"
)
_AGE = _words("age alter edad idade agea ppage")
_NO_KEY = _words(
    "year month day age wave period grade visit time week hour price income amount salary wage score code cause icd"
)


def name_words(name: str, *, humps: bool = True) -> tuple[str, ...]:
    """The words a column's name is made of, in lower case and without accents.

    Examples
    --------
    >>> name_words("yearlyIncome_USD-2020"), name_words("Santé_perçue"), name_words("KldB", humps=False)
    (('yearly', 'income', 'usd', '2020'), ('sante', 'percue'), ('kldb',))
    """
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    letters = "".join(letter for letter in plain if not unicodedata.combining(letter))
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", letters) if humps else letters
    return tuple(word.lower() for word in re.findall(r"[^\W\d_]+|\d+", parted))


def sensitive_word(name: str) -> str | None:
    """The word of a name, or of a description, that says it is sensitive, or None.

    Examples
    --------
    >>> sensitive_word("net_income"), sensitive_word("Haushaltseinkommen"), sensitive_word("incomers")
    ('income', 'haushaltseinkommen', None)
    """
    words = name_words(name)
    if not _NOT_SENSITIVE.isdisjoint(words):
        return None
    for word in sorted({*words, "".join(words)}):
        if word in _SENSITIVE or word.startswith(_SENSITIVE_STEMS) or word.endswith(_SENSITIVE_STEMS):
            return word
    return None


# --------------------------------------------------------------------------------------------------
# One dictionary-encoded column, and what its values look like.


MOST_LOOKED_AT = 400
"""Different values of a column that regular expressions are tried on."""

_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_DIRECT_FORM = re.compile(r"[^@\s]+@[^@\s]+\.[a-z]{2,}|\d{3}-\d{2}-\d{4}|\+?\d[\d ()-]{8,}\d")
_FILE_NUMBER = re.compile(r"(?=.*\d)[A-Za-z0-9./_-]{4,40}")
_MONTH = r"(jan|feb|fev|f[eé]v|mar|m[aä]r|apr|abr|avr|ma[iyj]|ju[nil]|aug|ago|ao[uû]|sep|set|o[cku]t|nov|de[czs]|d[eé]c|dic)[a-zé]{0,7}"
_DATES = tuple(
    re.compile(pattern)
    for pattern in (
        r"\d{4}-\d{2}-\d{2}([T ].*)?",
        r"\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d{2})( .*)?",
        r"\d{4}/\d{1,2}/\d{1,2}.*",
        rf"(?i:(\d{{1,2}}[ -])?{_MONTH}[ -]\d{{2,4}})",
        r"\d{4}-\d{2}",
        r"\d{4} ?Q[1-4]",
    )
)
_DAY_AS_NUMBER = re.compile(r"(18|19|20)\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])")


@dataclass(eq=False, repr=False)
class EncodedColumn:
    """A column as places of its different values, in the order in which they first occur. Private.

    Parameters
    ----------
    name
        Of the column.
    codes
        For each row the place of its value, -1 where it has none.
    values
        The different values as texts.
    numbers
        The same as numbers; None unless all are.
    description
        What the source says that the column means.
    """

    name: str
    codes: Any
    values: Sequence[str]
    numbers: Floats | None = None
    description: str = ""

    def __repr__(self) -> str:
        return f"EncodedColumn({self.name})"

    @cached_property
    def counts(self) -> Any:
        """Rows of each value."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.values))

    @cached_property
    def present(self) -> int:
        """Rows with a value."""
        return int(self.counts.sum())

    @property
    def rows(self) -> int:
        """Rows of the table."""
        return len(self.codes)

    @property
    def size(self) -> int:
        """Number of different values."""
        return len(self.values)

    @property
    def is_unique(self) -> bool:
        """Whether values hardly repeat."""
        return self.present > 0 and self.size >= 0.999 * self.present

    @property
    def rows_each(self) -> float:
        """Rows per value."""
        return self.present / max(self.size, 1)

    @cached_property
    def is_in_runs(self) -> bool:
        """Whether rows with the same value mostly are neighbors."""
        codes = self.codes[self.codes >= 0]
        return bool(self.rows_each >= 1.3 and (codes[1:] != codes[:-1]).sum() + 1 <= 1.1 * self.size)

    @cached_property
    def is_whole(self) -> bool:
        """Whether all values are whole numbers."""
        return self.numbers is not None and bool((self.numbers == np.floor(self.numbers)).all())

    @cached_property
    def by_row(self) -> Floats:
        """The numbers of the rows that have one."""
        assert self.numbers is not None
        found: Floats = self.numbers[self.codes[self.codes >= 0]]
        return found

    @cached_property
    def words(self) -> tuple[str, ...]:
        """Words of the name."""
        return name_words(self.name)

    @cached_property
    def tokens(self) -> Words:
        """Words of the name, also joined."""
        whole = name_words(self.name, humps=False)
        return frozenset({*self.words, *whole, "".join(self.words), self.name.lower()})

    def has(self, *words: Words) -> bool:
        """Whether a word of the name is among some words."""
        return any(not self.tokens.isdisjoint(each) for each in words)

    def says(self, pattern: str) -> bool:
        """Whether a pattern is in the name, in lower case."""
        return re.search(pattern, self.name.lower()) is not None

    @property
    def is_measure(self) -> bool:
        """Whether a word of measure stands in the name: a count of persons names none."""
        words = frozenset(self.words)
        return not words.isdisjoint(_MEASURE) and words.isdisjoint(("id", "key", "code"))

    @property
    def is_named_as_key(self) -> bool:
        """Whether the name says that it is a key, of whatever."""
        return (
            self.has(_words("id key ident"))
            or self.says(r"(^|[_.])id|id$|[_.]id[_.]")
            or re.search(r"[a-z](ID|Id|NR|Nr)$", self.name) is not None
        )

    @cached_property
    def some(self) -> list[str]:
        """Different values, evenly spread over all of them."""
        step = max(1, -(-len(self.values) // MOST_LOOKED_AT))
        return [str(each) for each in self.values[::step]]

    def share(self, *patterns: re.Pattern[str]) -> float:
        """The largest share of the values that one pattern fits."""
        return max(
            sum(each.fullmatch(value) is not None for value in self.some) / max(len(self.some), 1)
            for each in patterns
        )

    @cached_property
    def is_coded(self) -> bool:
        """Whether texts are made like numbers of files: digits and letters mixed, no words."""
        if self.numbers is not None or self.size < 20:
            return False
        if self.share(_FILE_NUMBER, _UUID) > 0.9:
            return True
        with_digits = np.mean([any(map(str.isdigit, value)) for value in self.some])
        hardly_repeats = self.size > 0.5 * self.present
        return bool(
            hardly_repeats and with_digits > 0.5 and self.share(re.compile("[A-Za-z0-9]{5,12}")) > 0.95
        )

    @cached_property
    def looks_like_names(self) -> bool:
        """Whether values are letters in two or more capitalized words, or whatever letters if the name says that they name."""
        if self.numbers is not None or self.size < 20:
            return False
        letters = self.share(re.compile(r"[^\d_@/;:]{2,60}"))
        two = self.share(re.compile(r".*[^\s,]+[ ,]+[^\s,]+.*"))
        title = np.mean(
            [all(word[:1].isupper() for word in re.findall(r"[^\W\d_]{3,}", value)) for value in self.some]
        )
        return letters > 0.85 and (self.has(_NAME) or (two > 0.6 and bool(title > 0.7)))


@dataclass(frozen=True)
class Candidate:
    """A column whose values may name whose rows they are, with the evidence for it."""

    column: EncodedColumn
    score: float
    trait: float | None
    varies: bool
    counters: tuple[EncodedColumn, ...]
    is_person: bool
    is_firm: bool
    fixed: tuple[str, ...]

    @property
    def is_possible(self) -> bool:
        """Whether nothing speaks against its rows being of one person."""
        is_cluster = self.column.has(_CLUSTER) and not self.is_person
        return self.varies and not (self.trait is not None and self.trait < 0.6) and not is_cluster


@dataclass(frozen=True)
class Roles:
    """What the rules found: of each column what it is, and why, without values; candidates, the likeliest first."""

    labels: dict[str, tuple[Label, str]]
    candidates: tuple[Candidate, ...] = ()
    household: Candidate | None = None
    composite: tuple[str, str] | None = None
    serial: frozenset[str] = frozenset()

    def named(self, *labels: Label) -> list[str]:
        """Columns with one of the labels."""
        return [name for name, (label, _) in self.labels.items() if label in labels]


PROPOSED = 4.5
"""Score from which on a column is proposed as unit."""

ASKED = 1.5
"""Score from which on a column is kept back and asked about."""


def key_columns(columns: Sequence[EncodedColumn]) -> tuple[str, ...]:
    """Names of the columns that look like a key: row numbers, identifiers and units.

    Examples
    --------
    >>> number = EncodedColumn("number", np.arange(40), [str(each) for each in range(1, 41)], np.arange(1.0, 41))
    >>> job = EncodedColumn("job", np.arange(40) % 2, ["a", "b"])
    >>> key_columns([number, job])
    ('number',)
    """
    return tuple(infer_roles(columns).named(Label.ROW_NUMBER, Label.IDENTIFIER, Label.UNIT))


def infer_roles(columns: Sequence[EncodedColumn]) -> Roles:
    """What each column is, by the rules in their order.

    Examples
    --------
    >>> number = EncodedColumn("id", np.arange(40), [f"A{each:03}" for each in range(40)])
    >>> job = EncodedColumn("job", np.arange(40) % 2, ["a", "b"])
    >>> infer_roles([number, job]).labels["id"]
    (<Label.IDENTIFIER: 'identifier'>, 'text that never repeats')
    """
    rules = _Rules(list(columns))
    for rule in (
        rules.row_numbers,
        rules.weights,
        rules.designs_dates_and_texts,
        rules.unique_keys,
        rules.repeating_keys,
        rules.copies_and_the_rest,
    ):
        rule()
    return Roles(
        {each.name: rules.labels[each] for each in columns},
        tuple(rules.candidates),
        rules.household,
        rules.composite,
        frozenset(each.name for each in rules.serial),
    )


# --------------------------------------------------------------------------------------------------
# The rules.


MOST_PAIRS = 20_000
"""Pairs of rows with the same value that are compared."""

FEWEST_REPLICATES = 8
"""Numbered columns that make a family of replicate weights."""


@dataclass
class _Rules:
    """The columns of a table and the labels they got so far."""

    columns: list[EncodedColumn]
    labels: dict[EncodedColumn, tuple[Label, str]] = field(default_factory=dict)
    candidates: list[Candidate] = field(default_factory=list)
    household: Candidate | None = None
    composite: tuple[str, str] | None = None
    serial: list[EncodedColumn] = field(default_factory=list)

    @property
    def rows(self) -> int:
        return self.columns[0].rows

    @property
    def left(self) -> list[EncodedColumn]:
        """Columns without a label."""
        return [each for each in self.columns if each not in self.labels]

    def put(self, column: EncodedColumn, label: Label, reason: str) -> None:
        self.labels.setdefault(column, (label, reason))

    def label(self, column: EncodedColumn) -> Label | None:
        return self.labels[column][0] if column in self.labels else None

    # Constants and row numbers.

    def row_numbers(self) -> None:
        for place, each in enumerate(self.columns):
            if each.size + (each.present < each.rows) < 2:
                self.put(each, Label.CONSTANT, "every row has the same value, or none")
            elif each.is_whole and each.size == each.rows:
                self._row_number(each, is_first=place == 0)

    def _row_number(self, column: EncodedColumn, *, is_first: bool) -> None:
        numbers = column.by_row
        rises = bool((np.diff(numbers) > 0).all())
        is_dense = numbers.max() - numbers.min() + 1 == column.rows
        counts = rises and is_dense and numbers.min() in (0, 1)
        lowered = column.name.lower().strip()
        is_named = column.has(_ROW) or bool(re.fullmatch(r"(|unnamed.*|column_?0+|x\.?\d*|_c0|v1)", lowered))
        is_explicit = is_first and re.fullmatch(r"(|row[._ ]?names?|unnamed.*|column_?0+)", lowered)
        is_key = column.has(_PERSON, _FIRM, _HOUSEHOLD) or "id" in lowered
        if is_explicit or (counts and not is_key) or (is_named and rises and (is_first or is_dense)):
            self.put(column, Label.ROW_NUMBER, "it counts the rows of the file")
        elif counts:
            self.serial.append(column)

    # Survey weights and their replicates, by name and by what they add up to.

    def weights(self) -> None:
        has_body = any(each.has(_BODY) and each.numbers is not None for each in self.columns)
        named = [each for each in self.left if self._adds_up(each, has_body=has_body)]
        families: dict[str, list[EncodedColumn]] = defaultdict(list)
        for each in self.left:
            found = re.fullmatch(r"(.*?[a-z_.])[_.]*\d+", each.name.lower())
            if found and each.numbers is not None and each.present > 0.9 * each.rows:
                families[found[1].rstrip("_.")].append(each)
        for stem, family in families.items():
            weights = [each for each in named if each not in family]
            if len(family) >= FEWEST_REPLICATES and _are_replicates(stem, family, weights):
                for each in family:
                    self.put(
                        each,
                        Label.REPLICATE_WEIGHT,
                        f"one of {len(family)} numbered columns with the mean of the weight",
                    )
        for each in named:
            self.put(each, Label.WEIGHT, f"adds up to {each.by_row.sum():,.0f} for {self.rows:,} rows")

    def _adds_up(self, column: EncodedColumn, *, has_body: bool) -> bool:
        """Whether a column that is named as a weight is one of the survey, and not of a body."""
        lowered = column.name.lower().strip("_")
        of_survey = _NAMES_A_SURVEY_WEIGHT.match(lowered) is not None
        described = not _WEIGHT.isdisjoint(name_words(column.description))
        if not (column.has(_WEIGHT) or of_survey or described) or column.numbers is None:
            return False
        if (
            column.size < 2
            or column.present < 0.2 * column.rows
            or column.says("birth|bweight|loss|gain|body|dry")
        ):
            return False
        numbers = column.by_row
        mean, low = numbers.mean(), numbers.min()
        if low < 0:
            return False
        spread = numbers.std() / mean if mean > 0 else 9
        is_scaled = abs(mean - 1) < 0.05
        if column.size < 8 and column.has(_BARE_WEIGHT) and not is_scaled and mean < 1:
            return False
        is_bare = re.fullmatch(
            r"(weight|wt|peso|poids|gewicht)s?[._]?\d*(_\d+)?|.*[a-z]wt\d*|.*\bwt\d+(_\d+)?", lowered
        ) and not _NAMES_A_SURVEY_WEIGHT.match(lowered.replace("weight", ""))
        is_human = low > 0.2 and spread < 0.75 and 1.5 <= mean <= 260 and numbers.max() < 700
        if is_bare and is_human and column.size > 20 and not is_scaled and (has_body or spread < 0.45):
            return False
        return bool(is_scaled or numbers.sum() > 5 * self.rows or column.has(_WEIGHT) or described)

    # Designs, dates, texts and direct identifiers, by form and name.

    def designs_dates_and_texts(self) -> None:
        for each in self.left:
            if each.has(_STRATUM):
                self.put(each, Label.STRATUM, "its name says so")
            elif each.has(_SAMPLING_CLUSTER) and each.size < 0.8 * each.rows:
                self.put(each, Label.CLUSTER, "its name says so")
            elif _are_dates(each):
                self.put(each, Label.DATE, "its values are dates")
            elif each.share(_UUID) > 0.9 or (each.numbers is None and each.share(_DIRECT_FORM) > 0.9):
                self.put(each, Label.IDENTIFIER, "its values have the form of a direct identifier")
            elif (
                each.has(_DIRECT)
                and each.size > max(15, 0.02 * each.rows)
                and (each.numbers is None or each.is_whole)
            ):
                self.put(each, Label.IDENTIFIER, "its name is that of a direct identifier")
            elif each.numbers is None:
                self._text(each)

    def _text(self, column: EncodedColumn) -> None:
        of_persons = not column.has(_NAME_OF_SOMETHING_ELSE)
        is_name = (
            column.has(_NAME)
            or column.words[-1:] in (("name",), ("names",))
            or column.says("(first|last|sur|full|given|bio)_?name|name(first|last|given)")
        )
        if _is_free_text(column):
            if of_persons and column.has(_NAME) and column.looks_like_names:
                self.put(column, Label.IDENTIFIER, "names of persons")
            else:
                self.put(column, Label.FREE_TEXT, "long or varied text")
        elif (
            of_persons
            and is_name
            and (
                column.size > 15
                or (column.size >= 3 and column.has(_SURE_NAME) and column.size > 0.5 * column.present)
            )
        ):
            self.put(column, Label.IDENTIFIER, "names of persons")
        elif of_persons and column.has(_PROVIDER) and column.size > 15:
            self.put(column, Label.IDENTIFIER, "it names another person, such as a provider or an agent")
        elif (
            column.looks_like_names
            and column.size > 0.5 * column.present
            and of_persons
            and not column.has(_CLUSTER)
            and not column.says("place|city|town|county|district|title|problem|state|country|dname")
        ):
            self.put(column, Label.IDENTIFIER, "its values look like names of persons")

    # Keys whose values do not repeat.

    def unique_keys(self) -> None:
        for each in self.left:
            if each.present < 20 or each.size < 0.95 * each.present or each.is_measure:
                continue
            is_named = (
                each.has(_PERSON, _FIRM, _HOUSEHOLD)
                or each.is_named_as_key
                or each.says("key$|number$|nr$|num$")
            )
            if each.numbers is None:
                if each.is_coded or is_named:
                    self.put(each, Label.IDENTIFIER, "text that never repeats")
            elif each.is_whole and each.is_unique and each.present > 0.5 * each.rows:
                numbers = each.by_row
                widths = {len(value) for value in each.some}
                is_wide = len(widths) == 1 and min(widths) >= 7
                rises = np.mean(np.diff(numbers) > 0) > 0.9 and numbers.min() >= 0
                is_dense = numbers.max() - numbers.min() + 1 < 3 * len(numbers) and numbers.min() >= 0
                if is_named or is_wide or rises or is_dense:
                    self.put(each, Label.IDENTIFIER, "whole numbers that never repeat")

    # Keys whose values repeat: whose rows they are, and which belong together.

    def repeating_keys(self) -> None:
        found = [candidate for each in self.columns if (candidate := self._candidate(each)) is not None]
        self.candidates = sorted(found, key=lambda each: (-each.score, -each.column.size))
        self.household = next(filter(_is_household, self.candidates), None)
        others = [each for each in self.candidates if each is not self.household]
        best = next((each for each in others if each.score >= ASKED and each.is_possible), None)
        is_unit = best is not None and best.score >= PROPOSED
        if self.household is not None:
            self._keep_household(self.household.column, is_complete=is_unit)
        self.candidates = [] if best is None else [best, *(each for each in others if each is not best)]
        if best is not None:
            # What another rule called an identifier or a cluster may be the unit: the evidence of its rows decides.
            if is_unit:
                reason = f"{best.column.size:,} values in {self.rows:,} rows" + (
                    f"; {', '.join(best.fixed[:3])} agree within each" if best.fixed else ""
                )
                self.labels[best.column] = (Label.UNIT, reason)
                self._aliases(best.column)
            else:
                self.put(best.column, Label.IDENTIFIER, "it repeats, and may name whose rows they are")
        for each in self.candidates or others:
            column = each.column
            if column.has(_CLUSTER) and not each.is_person:
                self.put(column, Label.CLUSTER, "its name says so, and many persons have each value")
            elif column.rows_each < 60 and (
                each.is_person
                or each.is_firm
                or (column.is_named_as_key and each.score >= 2)
                or (column.is_coded and column.size > 0.3 * self.rows)
                or (not is_unit and column.is_in_runs and column.size > 100 and column.rows_each < 20)
            ):
                self.put(column, Label.IDENTIFIER, "it is named as a key, and repeats")

    def _keep_household(self, household: EncodedColumn, *, is_complete: bool) -> None:
        """Label a household, and the person number that names a person together with it."""
        self.labels[household] = (Label.HOUSEHOLD, "few rows each, in which persons' traits differ")
        for each in self.left:
            numbers_persons = each.has(_PERSON_NUMBER | _words("componente line num"))
            if not is_complete and numbers_persons and _restarts(each, household):
                self.put(each, Label.IDENTIFIER, "it counts persons within the household")
                self.composite = (household.name, each.name)
                return

    def _candidate(self, column: EncodedColumn) -> Candidate | None:
        repeats = (
            not column.is_unique
            and column.size >= (30 if column.rows_each > 400 else 8)
            and column.present >= 0.9 * column.rows
            and column.rows_each >= 1.02
        )
        is_amount = column.numbers is not None and not (column.is_whole and column.numbers.min() >= 0)
        if not repeats or is_amount or self.label(column) not in (None, Label.IDENTIFIER, Label.CLUSTER):
            return None
        is_person = column.has(_PERSON) and not column.is_measure
        is_firm = column.has(_FIRM) and not column.is_measure
        is_household, is_key = column.has(_HOUSEHOLD) and not column.is_measure, column.is_named_as_key
        is_text_key = self.label(column) is Label.IDENTIFIER
        is_named = is_person or is_firm or is_household
        is_key_like = is_key or is_named or column.is_in_runs or is_text_key or column.is_coded
        if not is_key_like or (column.has(_NO_KEY) and not (is_person or is_key)):
            return None
        pairs = _pairs(column)
        if len(pairs[0]) < 10:
            return None
        fixed, varies, trait = _evidence(column, self.columns, pairs)
        score = (
            3.0 * (is_key or column.is_coded)
            + 3.0 * is_person
            + 2.0 * is_firm
            - 3.0 * column.has(_CLUSTER)
            - 2.5 * is_household
            + 1.5 * column.is_in_runs
            + 0.5 * min(len(fixed), 4)
            + (1.0 if varies else -1.5)
            + (0.5 if column.size > 100 else 0)
            - 1.5 * (column.rows_each > 60 and not is_person)
            - 2.0 * (column.size < 20 and not (is_person or is_key))
            - 1.5 * (is_text_key and column.numbers is None and column.has(_NAME))
            - 2.0 * (column.numbers is not None and not (is_key or is_named) and len(fixed) < 2)
        )
        if trait is not None:
            score += 3.0 if trait > 0.9 else -4.0 if trait < 0.6 else 0.0
        counters = tuple(each for each in self.columns if each is not column and _restarts(each, column))
        return Candidate(column, score, trait, varies, counters, is_person, is_firm, tuple(fixed))

    def _aliases(self, unit: EncodedColumn) -> None:
        """Label other names of the unit's persons, and columns that refer to other persons."""
        pairs, values = _pairs(unit), set(map(str, unit.values))
        for each in self.left:
            if each.size <= 20 or (each.numbers is not None and not each.is_whole):
                continue
            same = _agreement(each, pairs)
            least = 0.9 if each.numbers is None else 0.995
            if same is not None and same[0] > 0.995 and each.size >= least * unit.size:
                self.put(each, Label.IDENTIFIER, "one to one with the unit")
            elif each.numbers is None and len(values.intersection(map(str, each.values))) > 0.95 * each.size:
                self.put(each, Label.IDENTIFIER, "its values are values of the unit")

    # Copies, then the rest by name.

    def copies_and_the_rest(self) -> None:
        seen: dict[tuple[int, bytes], EncodedColumn] = {}
        for each in self.columns:
            if 2 < each.size <= 0.5 * each.rows:
                first = seen.setdefault((each.size, each.codes.tobytes()), each)
                if first is not each and self.label(first) is not Label.ROW_NUMBER:
                    self.put(each, Label.DERIVED, f"one to one with {first.name!r}")
            if each not in self.labels:
                word = sensitive_word(f"{each.name} {each.description}")
                if word is None:
                    self.put(each, Label.QUASI_IDENTIFIER, "")
                else:
                    self.put(each, Label.SENSITIVE, f"its name or description says {word!r}")


_NAMES_A_SURVEY_WEIGHT = re.compile(
    r"(wt(int|mec|saf|ss|supp|finl)?[a-z]*\d*yr?$|asecwth?$|w_f[a-z]+wt|.*(wgt|wght|weight)$|pond(ii|iio|ih|era).*"
    r"|peso(ano|tri|mes|men)$|.*_wt$|[a-z]{3,}wt$|.*wgt\d*$)"
)


def _are_replicates(stem: str, family: Sequence[EncodedColumn], weights: Sequence[EncodedColumn]) -> bool:
    """Whether numbered columns have the mean of a weight, or are so named and have one mean."""
    means = np.array([each.by_row.mean() for each in family])
    if np.median([each.size for each in family]) < FEWEST_REPLICATES:
        return False
    for weight in weights:
        ratio = means / weight.by_row.mean()
        if np.mean((ratio > 0.8) & (ratio < 1.25)) > 0.9:
            return True
    return bool(re.search("rep|brr|bsrw|jk|fay|wgt|wt|boot", stem) and means.std() < 0.1 * abs(means.mean()))


def _are_dates(column: EncodedColumn) -> bool:
    if column.size < 2:
        return False
    if column.numbers is None:
        return column.share(*_DATES) >= 0.9
    low, high = column.numbers.min(), column.numbers.max()
    if not column.is_whole:
        # Decimal years.
        return bool(column.size > 50 and low >= 1850 and high <= 2050)
    if low >= 18_500_101 and high <= 20_991_231 and column.share(_DAY_AS_NUMBER) > 0.95:
        return True
    return column.has(_DATE) and column.size > 12


def _is_free_text(column: EncodedColumn) -> bool:
    if column.size < 5:
        return False
    if column.share(re.compile("https?://.*")) > 0.8:
        return True
    parts = {part.strip() for value in column.some for part in re.split("[,;|]", value)}
    if column.size > 30 and len(parts) < 0.25 * len(column.some) + 10:
        # Choices that were ticked, joined by commas.
        return False
    length = np.mean([len(value) for value in column.some])
    words = np.mean([value.count(" ") + 1 for value in column.some])
    varied = column.size / column.present
    is_long = column.size > 30 and (
        (length > 40 and words > 6) or (length > 25 and words >= 4 and varied > 0.3)
    )
    return bool(is_long or (column.has(_TEXT) and varied > 0.15 and column.size > 20 and length > 6))


def _is_household(candidate: Candidate) -> bool:
    """Whether a candidate's rows are a few different persons each."""
    column = candidate.column
    few = 1.05 < column.rows_each < 12 and column.counts.max() <= 60
    if not few or (candidate.trait is not None and candidate.trait >= 0.9) or column.has(_CLUSTER):
        return False
    numbered = any(each.has(_PERSON_NUMBER) for each in candidate.counters)
    differ = column.is_named_as_key and candidate.trait is not None and candidate.trait < 0.6
    return (column.has(_HOUSEHOLD) and not column.is_measure) or (column.is_in_runs and (numbered or differ))


Pairs = tuple[Any, Any]


def _pairs(key: EncodedColumn) -> Pairs:
    """Rows that have the same value of a column, two by two."""
    order = np.argsort(key.codes, kind="stable")
    codes = key.codes[order]
    places = np.flatnonzero((codes[1:] == codes[:-1]) & (codes[1:] >= 0))
    if places.size > MOST_PAIRS:
        places = places[np.linspace(0, places.size - 1, MOST_PAIRS).astype(int)]
    return order[places], order[places + 1]


def _agreement(column: EncodedColumn, pairs: Pairs) -> tuple[float, float] | None:
    """The share of pairs that agree on a column, and that of random pairs of rows; None where few have values."""
    first, second = column.codes[pairs[0]], column.codes[pairs[1]]
    both = (first >= 0) & (second >= 0)
    if both.sum() < 10:
        return None
    at_random = ((column.counts / max(column.present, 1)) ** 2).sum()
    return float((first[both] == second[both]).mean()), float(at_random)


def _evidence(
    key: EncodedColumn, columns: Iterable[EncodedColumn], pairs: Pairs
) -> tuple[list[str], bool, float | None]:
    """Columns that a key determines; whether others vary within it; how well the person's own trait agrees."""
    fixed: list[str] = []
    varies = False
    traits: dict[str, list[float]] = defaultdict(list)
    for each in columns:
        if each is key or each.size < 2 or (each.is_unique and not each.has(_BIRTH)):
            continue
        found = _agreement(each, pairs)
        if found is None:
            continue
        same, at_random = found
        if at_random < 0.95 and same >= 0.97 and each.size < 1.02 * key.size:
            fixed.append(each.name)
        elif same < 0.9:
            varies = True
        for trait in _TRAITS:
            agrees = _trait_agreement(trait, each, key, pairs, found)
            if agrees is not None:
                traits[trait].append(agrees)
                break
    # Of several columns of one trait, such as the patient's sex and the doctor's, the best counts.
    best = next((max(traits[trait]) for trait in _TRAITS if traits[trait]), None)
    return fixed, varies, best


_TRAITS = ("birth", "sex", "age", "race")
"""What is a person's own, from what tells most on."""


def _trait_agreement(
    trait: str, column: EncodedColumn, key: EncodedColumn, pairs: Pairs, found: tuple[float, float]
) -> float | None:
    """How much more than by chance rows of one value agree on a trait; None where a column is none."""
    same, at_random = found
    if trait == "age":
        spread = column.by_row.std() if column.numbers is not None and column.size > 5 else 0
        if not column.has(_AGE) or column.numbers is None or spread == 0:
            return None
        both = (column.codes[pairs[0]] >= 0) & (column.codes[pairs[1]] >= 0)
        first, second = (column.numbers[column.codes[side[both]]] for side in pairs)
        return max(0.0, 1 - float(np.abs(first - second).mean()) / (1.1 * float(spread)))
    is_trait = {
        "birth": column.has(_BIRTH),
        "sex": column.has(_SEX) and column.size <= 8,
        "race": column.has(_RACE, _SEX) and column.size <= 0.6 * key.size + 3,
    }[trait]
    return (same - at_random) / (1 - at_random) if is_trait and at_random < 0.95 else None


def _restarts(column: EncodedColumn, key: EncodedColumn) -> bool:
    """Whether a column counts 1, 2, ... within each value of a key."""
    if (
        not column.is_whole
        or column.numbers is None
        or not 0 < column.size <= 60
        or column.present < column.rows
    ):
        return False
    order = np.argsort(key.codes, kind="stable")
    codes, numbers = key.codes[order], column.numbers[column.codes[order]]
    follows = codes[1:] == codes[:-1]
    begins = np.r_[True, ~follows]
    if not follows.any() or np.mean(numbers[begins] == 1) <= 0.9:
        return False
    return bool(np.mean(np.diff(numbers)[follows] == 1) > 0.85)
