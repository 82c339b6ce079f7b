"""The page, as a browser shows it."""

import re

import pytest

import umfi
from umfi.report import render_report


@pytest.fixture(scope="session")
def path(hostile, tmp_path_factory):
    result, X = hostile
    return result.report(tmp_path_factory.mktemp("report") / "new" / "report.html", X)


@pytest.fixture
def open_page(browser, path):
    """Return a function that opens the page and a list of what it must not do."""
    contexts = []

    def open_it(*, width=1200, scheme="light", file=path):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True
        )
        contexts.append(context)
        page = context.new_page()
        page.trouble = []
        page.on("console", lambda message: page.trouble.append(message.text))
        page.on("pageerror", lambda error: page.trouble.append(str(error)))
        page.on("dialog", lambda dialog: page.trouble.append(dialog.message))
        page.on("request", lambda request: page.trouble.append(request.url))
        page.goto(file.as_uri())
        assert page.trouble.pop(0) == file.as_uri()
        return page

    yield open_it
    for context in contexts:
        context.close()


def shown_features(page):
    rows = page.locator("#table tbody tr:visible th.feature")
    return [text.strip() for text in rows.all_text_contents()]


def test_names_stay_text_and_nothing_is_fetched_or_run(open_page, hostile):
    result, _ = hostile
    page = open_page()
    assert shown_features(page) == result.table["feature"].tolist()
    assert page.locator("h1").inner_text() == "What is related to <b>target</b>?"
    assert page.locator("script").count() == 1
    assert page.locator("img").count() == 0
    assert "{{ 7 * 7 }}" in page.content()
    page.locator("summary").first.click()
    assert page.trouble == []


def test_clicks_sort_by_value_and_say_so(open_page, hostile):
    result, _ = hostile
    page = open_page()
    head = page.locator("th.c-importance")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    largest_first = result.table["feature"].tolist()
    assert shown_features(page) == largest_first
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert shown_features(page) == largest_first[::-1]
    page.locator("th.c-p_value button").click()
    by_p = result.table.sort_values("p_value", kind="stable")["p_value"].tolist()
    cells = page.locator("td.c-p_value").all()
    assert [float(cell.get_attribute("data-order")) for cell in cells] == by_p
    assert page.locator("th[aria-sort]").count() == 1
    assert page.trouble == []


def test_words_find_features_and_related_ones_can_be_chosen(open_page, hostile):
    result, _ = hostile
    page = open_page()
    page.locator("#search").fill("SCRIPT")
    assert shown_features(page) == ['<script>alert("x")</script>']
    assert page.locator("#count").inner_text() == "1 of 4 features"
    page.locator("#search").fill("nothing has this")
    assert shown_features(page) == []
    assert page.locator("#none").is_visible()
    page.locator("#search").fill("")
    page.locator("#related-only").check()
    related = result.table["feature"][result.table["related"]].tolist()
    assert shown_features(page) == related
    assert page.trouble == []


def test_everything_works_from_the_keyboard(open_page):
    page = open_page()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.locator("#search").focus()
    page.keyboard.type("script")
    page.keyboard.press("Enter")
    assert len(shown_features(page)) == 1
    page.locator("#search").fill("")
    page.locator("th.feature button").focus()
    page.keyboard.press("Enter")
    assert page.locator("thead th.feature").get_attribute("aria-sort") == "ascending"
    page.locator("#theme").focus()
    page.keyboard.press("Space")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.trouble == []


def luminance(colour):
    channels = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(page, selector):
    colour = page.evaluate(
        """selector => {
          let node = document.querySelector(selector);
          const ink = getComputedStyle(node)[node.closest("svg") ? "fill" : "color"];
          const back = () => getComputedStyle(node).backgroundColor;
          while (back() === "rgba(0, 0, 0, 0)") node = node.parentElement;
          return [ink, back()];
        }""",
        selector,
    )
    light, dark = sorted(map(luminance, colour), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_light_and_in_dark(open_page, scheme):
    page = open_page(scheme=scheme)
    is_dark = luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) < 0.2
    assert is_dark == (scheme == "dark")
    for selector in (".lead", ".quiet", "dt", "td.c-importance", "figcaption", "svg text"):
        assert contrast(page, selector) >= 4.5, selector  # As WCAG 2.2 asks of small text.
    page.locator("#theme").click()
    assert (
        luminance(page.evaluate("getComputedStyle(document.body).backgroundColor")) < 0.2
    ) != is_dark


@pytest.mark.parametrize("width", [360, 768, 1440])
def test_no_width_needs_scrolling_sideways(open_page, width):
    page = open_page(width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("td.c-importance").first.is_visible()


def test_on_paper_it_is_black_on_white_without_buttons(open_page):
    page = open_page(scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert not page.locator("#theme").is_visible()
    assert not page.locator("#search").is_visible()
    assert len(page.pdf()) > 10_000
    assert page.trouble == []


def test_parts_have_their_columns_and_picture(open_page, tmp_path):
    X, y = umfi.datasets.simulate("correlation", n=80, random_state=0)
    result = umfi.decompose(X, y, power=umfi.ForestPower(n_trees=5), repeats=20, random_state=0)
    page = open_page(file=result.report(tmp_path / "parts.html"))
    heads = page.locator("thead th").all_text_contents()
    assert {"alone", "together", "irreplaceable", "replaceable"} <= set(heads)
    titles = page.locator("figcaption strong").all_text_contents()
    assert titles == ["Importances.", "Parts.", "Stability."]
    assert page.trouble == []


def test_a_saved_result_gives_the_same_page(hostile, tmp_path):
    result, X = hostile
    loaded = umfi.load_result(result.save(tmp_path / "result.json"))
    assert render_report(loaded, X) == render_report(result, X)


def test_a_page_lists_only_so_many_features():
    import pandas as pd

    names = [f"gene {number}" for number in range(2500)]
    scores = pd.DataFrame({"feature": names, "repeat": 0, "score_with": 1.0, "score_without": 0.5})
    scores["importance"] = range(2500, 0, -1)
    page = render_report(umfi.ImportanceResult(scores, {"method": "bivariate", "n_rows": 50}))
    assert page.count('<th scope="row"') == 2000
    assert "The first 2000 of 2500 features" in page


def test_a_table_that_is_not_the_results_own_is_refused(hostile, tmp_path):
    result, X = hostile
    with pytest.raises(umfi.InputError, match="pass the table that the result was made of"):
        result.report(tmp_path / "report.html", X.rename(columns=str.upper))
    with pytest.raises(umfi.InputError, match=r"name it 'report\.html'"):
        result.report(tmp_path / "report.pdf")


def test_arrays_are_drawn_too():
    X, y = umfi.datasets.simulate("correlation", n=60, random_state=0)
    result = umfi.bivariate(X.to_numpy(), y.to_numpy(), random_state=0)
    assert "Redundancy." in render_report(result, X.to_numpy())


def test_stars_are_explained_under_the_table(open_page, hostile):
    page = open_page()
    assert "read off a fitted tail" in page.locator("#features").inner_text()


def test_on_a_phone_the_table_fits(open_page):
    page = open_page(width=375)
    inner, outer = page.locator("#table"), page.locator(".scroll")
    assert inner.bounding_box()["width"] <= outer.bounding_box()["width"]
