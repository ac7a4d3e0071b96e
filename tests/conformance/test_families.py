"""What every law, guarantee and attack must say about itself."""

from __future__ import annotations

import re

import pytest

from samples import LONG_SCHEMA, ratings
from sfumato import read_table
from sfumato.attacks import ATTACKS
from sfumato.errors import ParameterError, ReleaseUnsupportedError, SfumatoError
from sfumato.guarantees import GUARANTEES
from sfumato.laws import LAWS
from sfumato.methods.base import METHODS
from sfumato.registry import Family
from sfumato.testing import in_memory, release_in_memory, sample_table
from sfumato.testing.suite import attack_release

FAMILIES = (METHODS, LAWS, GUARANTEES, ATTACKS)
MEMBERS = [(family, name, member) for family in FAMILIES for name, member in family.members.items()]
each_member = pytest.mark.parametrize(
    ("family", "name", "member"), MEMBERS, ids=[f"{family.tag}-{name}" for family, name, _ in MEMBERS]
)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.tag)
def test_a_family_is_not_empty(family):
    """Discovery finds files, without a list."""
    assert family.members


@each_member
def test_a_member_is_found_by_its_name_alone(family, name, member):
    """With or without looking at all others."""
    again = Family(family.package, family.base, family.tag, module=family.module)
    assert again.find(name) is member
    assert again.find(f"{name}-x") is None
    assert again.find("../base") is None


def test_a_member_that_was_found_is_not_looked_for_again(monkeypatch):
    """Whoever opens many releases asks for the same law; the package's folders are read for the first."""
    again = Family(LAWS.package, LAWS.base, LAWS.tag, module=LAWS.module)
    found = again.find("perturbed-rows")
    monkeypatch.setattr(again, "_own_modules", list)
    assert again.find("perturbed-rows") is found is not None


@each_member
def test_names_are_words_with_hyphens(family, name, member):
    """As they are typed on the command line."""
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)


@each_member
def test_members_are_documented(family, name, member):
    """A docstring of their own with a first sentence."""
    assert (member.__doc__ or "").strip().split("\n")[0].endswith(".")


@each_member
def test_an_unknown_parameter_is_refused(family, name, member):
    """A misspelt parameter must not silently become a default."""
    with pytest.raises(ParameterError, match="no parameter 'retantion'"):
        family.make(name, {"retantion": 1})


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.tag)
def test_an_unknown_member_is_refused_with_the_nearest(family):
    """In a call by its name, in a release as not supported."""
    known = next(iter(family.members))
    with pytest.raises(ParameterError, match=f"did you mean '{known}'"):
        family.get(known + "x")
    with pytest.raises(ReleaseUnsupportedError, match="Install a newer version"):
        family.read({family.tag: "from-the-future"})


@pytest.mark.parametrize("name", list(GUARANTEES.members))
def test_a_guarantee_states_unit_neighbours_attacker_and_source(name):
    """A promise without them cannot be judged."""
    member = GUARANTEES.members[name]
    for part in ("protected_unit", "neighbours", "attacker", "reference"):
        assert len(getattr(member, part)) > 5, part


@pytest.mark.parametrize("name", list(ATTACKS.members))
def test_an_attack_states_its_assumptions(name):
    """What the attacker knows is explicit, and where the attack comes from."""
    member = ATTACKS.members[name]
    assert member.title
    assert member.summary
    assert member.assumptions
    assert member.citations
    assert set(member.laws) <= set(LAWS.members)
    for parameter, field in member.model_fields.items():
        assert parameter == ATTACKS.tag or field.description, parameter


@pytest.fixture(scope="module")
def releases_by_law():
    """For each law, releases by the examples of the methods that write it, with what they were published from."""
    tables = {"rows": sample_table(), "units": in_memory(read_table(ratings(), LONG_SCHEMA))}
    made = {}
    for method in METHODS.members.values():
        for table in (tables["rows"], *([tables["units"]] if method.reads_units else [])):
            release = release_in_memory(table, method.example(table.schema), seed=2)
            made.setdefault(release.manifest.law["law"], []).append((release, table))
            if release.law.withheld() is not None:
                hidden = release_in_memory(table, method.example(table.schema), seed=2, withhold_law=True)
                made.setdefault(hidden.manifest.law["law"], []).append((hidden, table))
    return made


@pytest.mark.parametrize("name", list(ATTACKS.members))
def test_an_attack_runs_on_every_law_it_names(name, releases_by_law):
    """It gives findings on some release, from it alone or with everybody's records as knowledge."""
    attack = ATTACKS.members[name].example()
    for law in attack.laws:
        fitting = [pair for pair in releases_by_law[law] if attack.applies_to(pair[0])]
        assert fitting, law
        for release, table in fitting:
            result = attack_release(attack, release, table)
            assert result.findings
            assert result.attack == name
            assert result.summary()
            assert result.to_dict()["findings"] == result.findings


@pytest.mark.parametrize("law", list(LAWS.members))
def test_every_law_is_written_by_a_method(law, releases_by_law):
    """A law that no method writes is dead code."""
    assert law in releases_by_law


def test_every_error_of_ours_is_in_the_drawn_tree():
    """The module's docstring shows the tree as it is."""
    from sfumato import errors

    drawn = re.findall(r"[├└]── (\w+)", errors.__doc__)

    def below(kind):
        return {each.__name__ for child in kind.__subclasses__() for each in (child, *_all(child))}

    def _all(kind):
        return [each for child in kind.__subclasses__() for each in (child, *_all(child))]

    assert below(SfumatoError) == set(drawn)
