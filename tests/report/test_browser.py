"""The page in a browser: what it shows, that it asks for nothing, and that its switches work."""

import pandas as pd
import pytest
import torch

from clgnn.report.graph_view import view
from clgnn.report.page import write
from clgnn.report.trials import from_trials


@pytest.fixture
def file(tiny_trials, new_trials, graph, tmp_path):
    more = new_trials(
        {
            ("cora", 105, 50, "gcn"): [0.6, 0.7],
            ("cora", 105, 50, "gcn+cl"): [0.7, 0.8],
            ("pubmed", 300, 0, "gcn"): [0.70, 0.72, 0.68],
            ("pubmed", 300, 0, "gcn+cl"): [0.60, 0.62, 0.59],
        }
    )
    roles = {"train": torch.arange(24) < 10, "test": torch.arange(24) >= 16}
    shown = view(graph, {"plain": graph.y.roll(1), "boosted": graph.y}, roles, ("a", "<i>b</i>", "c"))
    write(tmp_path / "report.html", from_trials(pd.concat([tiny_trials, more], ignore_index=True), shown))
    return tmp_path / "report.html"


@pytest.fixture
def open_page(open_file, file):
    return lambda width=1280, **options: open_file(file, width, **options)


def test_sections_tables_and_names(open_page):
    page = open_page()
    assert page.locator("h1").inner_text() == "Collective learning, reproduced"
    ids = ["gains", "results", "curves", "iterations", "time", "reliability", "graph", "numbers", "about"]
    assert page.locator("main > section").evaluate_all("all => all.map(one => one.id)") == ids
    assert page.locator("#results table caption").count() == 2
    text = page.locator("body").inner_text()
    assert "stands in for the paper's Facebook" in text
    assert "balanced accuracy" in text
    page.locator("#results").get_by_role("radio", name="partially labelled").check()
    assert "GNN, all labels†" in page.locator("#results").inner_text()


def test_switches_change_the_figures(open_page):
    page = open_page()
    for figure in ("gains", "curves", "iterations", "time", "reliability"):
        controls = page.locator(f"#{figure} .controls select, #{figure} .controls input")
        assert controls.count() > 1, figure
        for i in range(controls.count()):
            before = page.locator(f"#{figure} figure svg").last.inner_html()
            control = page.locator(f"#{figure} .controls select, #{figure} .controls input").nth(i)
            if control.evaluate("one => one.tagName") == "SELECT":
                control.select_option(index=control.locator("option").count() - 1)
            elif not control.is_checked():
                control.check()
            else:
                continue
            assert page.locator(f"#{figure} figure svg").last.inner_html() != before, (figure, i)
            break


def test_the_graph_is_coloured_by_what_is_chosen_and_rings_what_is_wrong(open_page):
    page = open_page()
    rings, caption = page.locator("#graph figure > div .ring"), page.locator("#graph figcaption")
    assert rings.count() == 0  # the boosted GNN is right everywhere
    assert "Ringed" not in page.locator("#graph").inner_text()
    page.locator("#graph").get_by_role("radio", name="plain predictions").check()
    assert rings.count() > 0
    assert "Ringed nodes are predicted wrong" in caption.inner_text()
    page.locator("#graph").get_by_role("radio", name="true labels").check()
    assert rings.count() == 0
    assert "Ringed" not in page.locator("#graph").inner_text()
    assert "<i>b</i>" in page.locator("#graph .legend").inner_text()  # a label is text


def test_hover_and_focus_show_the_numbers(open_page):
    page = open_page()
    tip = page.locator("#tip")
    assert tip.is_hidden()
    boosted = page.locator("#results tr", has_text="GCN + CL").locator(".cell").first
    boosted.hover()
    for number in ("55.17 %", "+5.17 points", "95 % interval", "p", "Holm's p", "+6.29"):
        assert number in tip.inner_text()
    page.mouse.move(0, 0)
    assert tip.is_hidden()
    boosted.focus()
    assert "55.17 %" in tip.inner_text()
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    marks = page.locator("#gains svg .mark")
    marks.first.focus()
    first = tip.inner_text()
    page.keyboard.press("ArrowRight")
    assert tip.inner_text() != first
    assert page.locator('#gains svg .mark[tabindex="0"]').count() == 1


def test_losses_are_shown_as_plainly_as_gains(open_page):
    page = open_page()
    gains = page.locator("#results tr", has_text="GCN + CL").first.locator(".gain")
    look = "all => all.map(one => [one.innerText[0], one.className, getComputedStyle(one).fontWeight])"
    assert gains.evaluate_all(look) == [
        ["+", "gain significant", "700"],
        ["+", "gain significant", "700"],
        ["−", "gain significant loss", "700"],
    ]
    colours = gains.evaluate_all("all => all.map(one => getComputedStyle(one).color)")
    assert colours[0] == colours[1] != colours[2]
    key = page.locator("#results .key .gain")
    assert page.locator("#results .key").inner_text().count("significant") == 2
    keys = key.evaluate_all(
        "all => all.map(one => [getComputedStyle(one).color, getComputedStyle(one).fontWeight])"
    )
    assert [colour for colour, _ in keys[:2]] == [colours[0], colours[2]]
    assert {weight for _, weight in keys[:2]} == {"700"}
    legend = page.locator("#gains .legend").inner_text()
    assert "gain: the 95 % interval lies above 0 (4)" in legend
    assert "loss: the 95 % interval lies below 0 (1)" in legend
    page.locator("#results tr", has_text="GCN + CL").first.locator(".cell").nth(2).hover()
    assert "a significant loss" in page.locator("#tip").inner_text()


def test_the_best_of_a_column_is_underlined(open_page):
    page = open_page()
    page.locator("#results").get_by_role("radio", name="partially labelled").check()
    rows = page.locator("#results [data-scenario='50'] tbody tr", has=page.locator(".best"))
    assert rows.locator("th").all_inner_texts() == ["GCN + CL"]
    assert (
        "methods with † and ablations do not compete" in page.locator("#results caption").nth(1).inner_text()
    )


def test_a_click_shows_the_settings_and_trials(open_page):
    page = open_page()
    page.locator("#results tr", has_text="GCN + CL").locator(".cell").first.click()
    drawer = page.locator("dialog")
    assert drawer.is_visible()
    text = drawer.inner_text()
    assert "GCN + CL on Cora, 85 labels" in text
    assert "num_iterations" in text
    assert "+5.50" in text  # the gain of the third trial
    page.keyboard.press("Escape")
    assert drawer.is_hidden()


def test_dark_and_light(open_page):
    def background(page):
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    page = open_page()
    light = background(page)
    page.locator("#theme").click()
    dark = background(page)
    assert dark != light
    page.locator("#theme").click()
    assert background(page) == light
    assert background(open_page(color_scheme="dark")) == dark


def test_a_phone_scrolls_tables_and_not_the_page(open_page):
    page = open_page(width=375)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    page.locator("#results .cell").first.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 375
    assert page.locator("dialog").bounding_box()["width"] <= 375


def test_print_shows_everything_in_light(open_page):
    page = open_page(color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#results [data-scenario]").evaluate_all(
        "all => all.every(one => one.offsetHeight > 0)"
    )
    assert page.locator("details table").first.is_visible()
    assert page.locator("#theme").is_hidden()
    assert page.locator("#gains select").first.is_hidden()
