#!/usr/bin/env python3
"""Reports in a real browser: nothing on the console, every picture drawn, nothing sticks out on a phone, dark and paper have
their own colours, texts of any origin stay texts. TAP. HONE_KEEP=DIR keeps the screenshots."""
import json, os, re, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import pages  # noqa: E402
from pages import check  # noqa: E402

HONE = os.environ.get("HONE", os.path.join(HERE, "../../build/asan/hone"))
MAKE = os.path.join(os.path.dirname(HONE), "tests/helper/report_store")
KEEP = os.environ.get("HONE_KEEP")
KINDS = {"kept": 4, "pair": 4, "signed": 2, "hostile": 3, "rejected": 3, "empty": 0}  # pictures each has


def on_paper(browser, top, page):
    """Printing from a dark screen gives dark ink on white, and the screen is dark again after it."""
    browser.open(page, dark=True)
    browser.eval("""window.seen = []; addEventListener("beforeprint", () => seen.push(getComputedStyle(document.documentElement).getPropertyValue("--card").trim()))""")
    path = os.path.join(top, "kept.pdf")
    browser.pdf(path)
    with open(path, "rb") as f:
        data = f.read()
    check(data.startswith(b"%PDF") and 1 <= len(re.findall(rb"/Type\s*/Page\b", data)) <= 12, "paper_has_pages", len(data))
    check(browser.eval("seen") == ["#ffffff"], "paper_is_white", browser.eval("seen"))
    check(browser.eval('getComputedStyle(document.documentElement).getPropertyValue("--card").trim()') == "#171c23", "screen_is_dark_again")
    check(not browser.errors, "paper_nothing_on_the_console", browser.errors)


def acts(browser, page):
    browser.open(page)
    browser.eval('document.getElementById("copy").click(), new Promise(done => setTimeout(done, 100))')
    check(browser.eval('document.getElementById("copied").textContent') != "", "copy_answers")
    tip = browser.eval("""(() => { const c = Chart.getChart("curve-chart"), m = c.getDatasetMeta(1).data[0];
      c.tooltip.setActiveElements([{datasetIndex: 1, index: 0}], {x: m.x, y: m.y}); c.update();
      return c.tooltip.title.concat(c.tooltip.body.flatMap(b => b.lines)); })()""")
    check(len(tip) > 2 and tip[0].startswith("trial ") and "p50(latency)" in tip[1], "hover_tells_the_trial", tip)
    check(not browser.errors, "acting_nothing_on_the_console", browser.errors)


def of_team(browser, top, page):
    """All of the records above on one page: a picture for each metric with a proven gain."""
    text = pages.looks(browser, top, "team", page, 2)
    check("onerror=alert(1)" in text, "team_hostile_texts_are_shown")
    check("hone retune" in text and "hone validate in" in text, "team_says_what_to_do", text)
    browser.open(page)
    bars = browser.eval("""Chart.getChart("gains-chart-1").data.datasets[0].whiskers.map(w => [w.lo, w.mid, w.hi].map(x => x.toFixed(3)).join(" "))""")
    check(sorted(bars) == ["0.992 1.004 1.016", "1.069 1.081 1.093", "1.069 1.081 1.093"], "team_bars_are_the_intervals", bars)
    check(not browser.errors, "team_nothing_on_the_console", browser.errors)


def main():
    if not shutil.which("chromium"):
        print("1..0 # SKIP needs chromium")
        return 0
    top = KEEP or tempfile.mkdtemp(prefix="report-")
    written = {}
    for kind in KINDS:
        folder = os.path.join(top, kind)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        subprocess.run([MAKE, folder, kind], check=True)
        written[kind] = os.path.join(folder, "report.html")
        run = subprocess.run([HONE, "report"], cwd=folder, capture_output=True, text=True)
        check(run.returncode == 0, f"{kind}_is_written", run.stderr)
    team = os.path.join(top, "team.html")
    run = subprocess.run([HONE, "team", top, "--out", team], capture_output=True, text=True)
    check(run.returncode == 0 and "programs on 2 machines" in run.stdout, "team_is_written", run.stdout + run.stderr)

    def checks(browser):
        text = {kind: pages.looks(browser, top, kind, written[kind], KINDS[kind]) for kind in KINDS}
        check("1.081" in text["kept"] and "gcc -O3 -funroll-loops -DTILE=32" in text["kept"], "kept_says_gain_and_flags")
        check("not validated: the search claims" in text["pair"].lower() and "hone validate" in text["pair"], "unproven_says_so")
        check("the tail is worse" in text["rejected"] and "rejected candidate" in text["rejected"], "rejected_says_why")
        check("onerror=alert(1)" in text["hostile"] and "alert(3)" in text["hostile"], "hostile_texts_are_shown")
        check("18446744073709551615" in text["kept"] and "aaaabbbbccccddddeeeeffff00001111" in text["kept"], "provenance_is_exact")
        of_team(browser, top, team)
        acts(browser, written["kept"])
        on_paper(browser, top, written["kept"])
        with open(written["kept"], encoding="utf-8") as f:
            html = f.read()
        check("THE SOFTWARE IS PROVIDED" in html and "Chart.js Contributors" in html, "licence_of_chart_js_is_kept")
        check(not re.search(r'(src|href)="(https?:)?//', html), "nothing_from_elsewhere")
        json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', html, re.S).group(1))
        check(True, "data_is_json")

    return pages.in_browser(top, KEEP, checks)


if __name__ == "__main__":
    sys.exit(main())
