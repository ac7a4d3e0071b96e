"""Both whole paths on the census sample, on a desk and on a phone, with a mouse and by keys alone."""

from __future__ import annotations

import json
import shutil

from browser.conftest import WIDTHS, Watched, serving

DESIGNS = """[[design]]
method = "randomized-response"
retention = 0.5

[[design]]
method = "anatomy"
l_value = 2
"""


def custodian(tab) -> None:
    """From data to report."""
    page = tab.tab
    page.get_by_role("button", name="Read the columns").click()
    tab.wait_for_job("#columns table")
    page.get_by_role("button", name="Use it instead of the guess").click()
    page.get_by_role("button", name="Undo: schema taken from beside the data").wait_for()
    page.locator("#columns table").wait_for()
    assert "1,000 rows, 9 columns" in page.locator("#columns").inner_text()
    tab.judge("data")
    assert page.locator("#rows table").count() == 0
    page.get_by_role("button", name="Show the first ten private rows").click()
    page.locator("#rows table").wait_for()
    tab.judge("data-rows")

    tab.go("/roles")
    page.get_by_label("Role of salary").select_option("other")
    page.get_by_role("button", name="Keep these roles").click()
    page.get_by_role("button", name="Undo: roles changed").wait_for()
    tab.judge("roles")
    page.get_by_role("button", name="Undo: roles changed").click()
    page.get_by_role("button", name="Undo: schema taken from beside the data").wait_for()
    assert page.get_by_label("Role of salary").input_value() == "sensitive"
    page.get_by_role("link", name="marital").click()
    page.locator("#histogram svg").wait_for()
    page.get_by_label("Separated becomes").fill("Married with absent spouse")
    page.locator("#histogram", has_text="Categories: 5").wait_for()
    page.get_by_role("button", name="Keep", exact=True).click()
    page.get_by_role("button", name="Undo: marital changed").wait_for()
    page.locator("#histogram svg").wait_for()
    assert page.get_by_label("Separated becomes").input_value() == "Married with absent spouse"
    tab.judge("attribute")

    tab.go("/risk")
    page.get_by_role("button", name="Inspect the rows").click()
    tab.wait_for_job("#risk-title")
    tab.judge("risk")

    tab.go("/method")
    tab.judge("methods")
    page.get_by_role("link", name="randomized response").click()
    page.locator("#private table").wait_for()
    before = page.locator("#plan .promise").first.inner_text()
    slider = page.get_by_label("retention, slider")
    slider.focus()
    for _ in range(20):
        slider.press("ArrowRight")
    page.locator("#plan .promise").filter(has_not_text=before).first.wait_for()
    page.locator("#private table").wait_for()
    tab.judge("method")
    page.get_by_label("retention, for all").fill("2")
    wrong = page.locator("#problem-set-retention")
    wrong.filter(has_text="retention").wait_for()
    assert page.get_by_label("retention, for all").get_attribute("aria-invalid") == "true"
    assert wrong.is_visible()
    tab.judge("method-wrong")
    page.get_by_label("retention, for all").fill("0.6")
    page.locator("#plan .promise").first.wait_for()
    assert not page.get_by_label("retention, for all").get_attribute("aria-invalid")
    assert wrong.is_hidden()
    page.get_by_role("button", name="Keep this design").click()
    page.wait_for_url("**/publish")

    tab.go("/compare")
    page.get_by_text("Designs of your own").click()
    page.get_by_label("One [[design]] each").fill(DESIGNS)
    page.get_by_label("Questions").fill("20")
    page.get_by_role("button", name="Compare").click()
    tab.wait_for_job("#found-title")
    page.locator(".chart svg").wait_for()
    tab.judge("compare")
    take_by_its_point(page)
    tab.go("/compare")
    take = page.get_by_role("button", name="Take randomized-response retention=0.5")
    take.focus()
    take.press("Enter")
    page.wait_for_url("**/publish")
    page.get_by_role("button", name="Undo: design randomized-response kept").wait_for()

    page.get_by_label("Name of the release").fill("census")
    # Most of the synthetic people are unique on what the design leaves unperturbed.
    page.get_by_label("singled-out").check()
    page.get_by_role("button", name="Publish", exact=True).click()
    tab.wait_for_job("#published-title")
    tab.judge("publish")

    tab.go("/attack")
    page.get_by_role("button", name="Attack", exact=True).click()
    tab.wait_for_job("#found-title")
    page.locator("#one-attack").select_option("linking")
    page.get_by_role("button", name="Try it").click()
    tab.wait_for_job("#single-title")
    tab.judge("attack")

    tab.go("/report")
    page.get_by_role("button", name="Write the report").click()
    tab.wait_for_job("iframe")
    page.frame_locator("iframe").locator(".chart svg").first.wait_for()
    tab.judge("report")


def take_by_its_point(page) -> None:
    """Click the point of a design in the chart; another one was kept before."""
    kept = page.locator("main dl").first
    page.locator(".chart svg path[aria-label*='retention=0.5']").click()
    page.wait_for_url("**/publish")
    assert page.locator("#design-title").inner_text() == "The design: randomized-response"
    assert "0.5" in kept.inner_text()
    assert "0.6" not in kept.inner_text()


def analyst(tab) -> None:
    """From the release to a model."""
    page = tab.tab
    tab.go("/release")
    page.locator("#release-title").wait_for()
    tab.judge("release")
    page.get_by_role("link", name="Next: ask it").click()
    page.get_by_label("Female", exact=True).check()
    page.locator("#answer .big").wait_for()
    page.locator("summary", has_text="occupation").click()
    page.get_by_label("Truck driver").check()
    page.locator("#answer code", has_text="sex = 'Female' AND occupation = 'Truck driver'").first.wait_for()
    page.locator("#answer svg").wait_for()
    tab.judge("ask")

    tab.go("/tables")
    page.get_by_label("workclass").check()
    page.locator("#table svg").wait_for()
    tab.judge("tables")
    for kind in ("CSV", "Parquet"):
        with page.expect_download() as download:
            page.get_by_role("link", name=f"Download {kind}").click()
        assert download.value.suggested_filename == f"counts.{kind.lower()}"

    tab.go("/measures")
    page.get_by_label("First: an attribute").fill("sex")
    page.get_by_label("Second: an attribute").fill("workclass")
    page.get_by_role("button", name="Measure").click()
    page.locator("main .chart svg").first.wait_for()
    tab.judge("measures")

    tab.go("/regression")
    page.get_by_label("Formula").fill("sex ~ marital")
    page.get_by_role("button", name="Fit").click()
    page.locator("main .chart svg").wait_for()
    tab.judge("regression")


def in_project(census, folder):
    """The sample and its schema in the project itself: pages then name them by their places there."""
    place = folder / "project" / "data"
    shutil.copytree(census.parent, place)
    return str(place / census.name)


def test_both_paths(tab, census, tmp_path):
    """Data to report, release to regression; the folder then holds the plain files of the command line."""
    with serving(tmp_path, in_project(census, tmp_path)) as address:
        tab.enter(address)
        custodian(tab)
        analyst(tab)
        tab.leave()
    project = tmp_path / "project"
    state = json.loads((project / "studio.json").read_text())
    assert state["release"] == "releases/census"
    for name in ("schema.toml", "design.toml", "releases/census/datapackage.json", "reports/census.html"):
        assert (project / name).is_file()


class Keys:
    """Somebody without a mouse: everything is reached by Tab, and where one is can be seen."""

    def __init__(self, tab: Watched) -> None:
        self.page = tab.tab

    def to(self, name: str) -> None:
        """Press Tab until the element of that name, or that shows this text, is in focus."""
        for _ in range(250):
            self.page.keyboard.press("Tab")
            told = self.page.evaluate(
                """() => {
                    const here = document.activeElement;
                    const labels = here.labels ? [...here.labels].map((each) => each.innerText) : [];
                    const words = [here.getAttribute("aria-label"), ...labels, here.innerText, here.value];
                    const style = getComputedStyle(here);
                    return [words.filter(Boolean).join(" | "), style.outlineStyle, here.tagName];
                }"""
            )
            if told[2] == "BODY":
                # Past the end of the page, where the browser's own controls are.
                continue
            assert told[1] != "none" or told[2] == "IFRAME", f"focus cannot be seen on {told[0]!r}"
            if name in told[0]:
                return
        raise AssertionError(f"{name!r} cannot be reached by keys")

    def press(self, name: str, key: str = "Enter") -> None:
        """Go there and press a key."""
        self.to(name)
        self.page.keyboard.press(key)


def test_by_keys_alone(chromium, census, tmp_path, kept):
    """From data to a release and an estimate without a mouse; focus is seen at every step."""
    width, height = WIDTHS["desktop"]
    context = chromium.new_context(viewport={"width": width, "height": height})
    tab = Watched(context, kept, "keys")
    keys, page = Keys(tab), tab.tab
    with serving(tmp_path, str(census)) as address:
        tab.enter(address)
        keys.press("Read the columns")
        tab.wait_for_job("#columns table")
        keys.press("Use it instead of the guess")
        page.get_by_role("button", name="Undo: schema taken from beside the data").wait_for()
        page.locator("#columns table").wait_for()
        keys.press("Method")
        page.wait_for_url("**/method")
        keys.press("randomized response")
        page.locator("#private table").wait_for()
        keys.to("retention, for all")
        page.keyboard.press("Control+a")
        page.keyboard.type("0.7")
        keys.press("Keep this design")
        page.wait_for_url("**/publish")
        page.locator("#name").wait_for()
        keys.to("Name of the release")
        keys.press("singled-out", "Space")
        keys.press("Publish")
        tab.wait_for_job("#published-title")
        keys.press("See it as an analyst does")
        page.wait_for_url("**/release")
        keys.press("Next: ask it")
        page.wait_for_url("**/ask")
        keys.press("Female", "Space")
        page.locator("#answer .big").wait_for()
        tab.leave()
    context.close()
    assert not tab.faults, "\n".join(tab.faults)


def test_a_second_tab_and_a_reload_see_the_same_work(chromium, census, tmp_path, kept):
    """Work that one tab began is on the other; either may be reloaded, and cancel leaves nothing behind."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    first, second = Watched(context, kept, "first"), Watched(context, kept, "second")
    with serving(tmp_path, str(census)) as address:
        first.enter(address)
        second.origin = first.origin
        first.tab.get_by_role("button", name="Read the columns").click()
        first.wait_for_job("#columns table")
        second.go("/compare")
        second.tab.get_by_role("button", name="Compare").click()
        second.tab.locator(".job").wait_for()
        first.go("/data")
        first.tab.locator(".job", has_text="Comparing designs").wait_for()
        first.tab.reload()
        first.tab.locator(".job", has_text="Comparing designs").wait_for()
        stop = first.tab.get_by_role("button", name="Cancel; nothing is left behind")
        pressed = stop.element_handle()
        for _ in range(3):
            with first.tab.expect_response(lambda answer: "/job?" in answer.url):
                pass
        # News of the work must not take the button from under the finger.
        assert pressed.evaluate("(button) => button.isConnected")
        stop.click()
        first.tab.get_by_text("was cancelled").wait_for()
        second.tab.get_by_text("was cancelled").wait_for()
        first.leave()
        second.leave()
    context.close()
    assert not (tmp_path / "project/comparison/comparison.json").exists()
    assert not first.faults + second.faults
