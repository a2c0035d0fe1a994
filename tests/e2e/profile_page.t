#!/usr/bin/env python3
"""The page of `hone profile --html` in a real browser: what every page has to stand (pages.py), one circle per kernel, roofs
where the machine was measured, tooltips, headings that sort. TAP. HONE_KEEP=DIR keeps the screenshots."""
import json, os, re, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import pages  # noqa: E402
from pages import check  # noqa: E402

HONE = os.environ.get("HONE", os.path.join(HERE, "../../build/asan/hone"))
KEEP = os.environ.get("HONE_KEEP")
pages.prefix = "profile_page"
MODEL = """ir 1
input %0 : f32[16, 64] "x"
input %1 : f32[64, 48] "w"
%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32} from "<img src=x onerror=alert(1)>"
%3 = cumsum %2 {axis = 1, exclusive = 0, reverse = 0}
%4 = tanh %3
%5 = contract %4, %4 {lhs = [0, 1], rhs = [2, 1], out = [0, 2], dtype = f32}
output %5 "y"
"""
# Measured elsewhere: what the page draws does not depend on the machine that runs the test.
RATES = {"f32_flops": 1e11, "f64_flops": 5e10, "l1_bps": 4e11, "l2_bps": 1e11, "memory_bps": 1e10, "all_f32_flops": 2e11,
         "all_memory_bps": 1.5e10, "all_cores": 2}
COLUMN = """(i => [...document.querySelectorAll("#kernels-table tbody tr")].map(r => r.children[i].textContent))"""


def measured(top):
    """A device table for this machine with rates of the test's."""
    env = dict(os.environ, XDG_CACHE_HOME=os.path.join(top, "cache"))
    subprocess.run([os.path.join(HERE, "../helper/measured.sh"), os.path.join(top, "cache")], env=dict(os.environ, HONE=HONE), capture_output=True)
    path = os.path.join(top, "cache/hone/device.yaml")
    with open(path) as f:
        text = f.read()
    for key, value in RATES.items():
        text = re.sub(rf"^{key}: [^ \n]*", f"{key}: {value}", text, flags=re.M)
    with open(path, "w") as f:
        f.write(text)
    return env


def profile(top, name, env):
    folder = os.path.join(top, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "net.ir"), "w") as f:
        f.write(MODEL)
    run = subprocess.run([HONE, "profile", "net.ir", "--time", "0.01", "--threads", "1", "--html", "page.html", "--json"], cwd=folder, env=env,
                         capture_output=True, text=True)
    check(run.returncode == 0, f"{name}_is_written", run.stderr)
    return os.path.join(folder, "page.html"), json.loads(run.stdout)


def draws(browser, page, data):
    browser.open(page)
    circles = browser.eval("Chart.getChart('roofline-chart').data.datasets.filter(s => !s.silent).flatMap(s => s.data.map(p => [p.k.kernel, p.x, p.y, p.r]))")
    want = {k["kernel"]: (k["flops"] / k["bytes"], k["flops_per_s"]) for k in data["kernels"] if k["flops"]}
    check({c[0] for c in circles} == set(want) and all(abs(c[1] / want[c[0]][0] - 1) < 1e-9 and abs(c[2] / want[c[0]][1] - 1) < 1e-9 for c in circles), "a_circle_per_kernel", circles)
    share = {k["kernel"]: k["share"] for k in data["kernels"]}
    check(all(abs(c[3] - max(2.5, 34 * share[c[0]] ** 0.5)) < 1e-6 for c in circles), "area_is_share", circles)
    roofs = browser.eval("Chart.getChart('roofline-chart').data.datasets.filter(s => s.silent).map(s => s.label.replace(/\\u00a0/g, ' '))")
    check(roofs == ["f32 peak 100 GFLOP/s", "memory 10 GB/s", "L2 100 GB/s"], "roofs", roofs)
    ends = browser.eval("Chart.getChart('roofline-chart').data.datasets.filter(s => s.silent).map(s => s.data[s.data.length - 1])")
    check(len(ends) == 3 and ends[1]["x"] == 10 and ends[2]["x"] == 1 and all(abs(e["y"] / 1e11 - 1) < 1e-9 for e in ends), "slopes_meet_the_peak", ends)


def acts(browser, page, data):
    tip = browser.eval("""(() => { const c = Chart.getChart("roofline-chart");
      const d = c.data.datasets.findIndex(s => !s.silent && s.data.some(p => p.k.kind === "contract"));
      const i = c.data.datasets[d].data.findIndex(p => p.k.kind === "contract"), m = c.getDatasetMeta(d).data[i];
      c.tooltip.setActiveElements([{datasetIndex: d, index: i}], {x: m.x, y: m.y}); c.update();
      return c.tooltip.title.concat(c.tooltip.body.flatMap(b => b.lines)).join("|").replace(/\\u00a0/g, " "); })()""")
    check(re.search(r"^k\d, contract\|f32\[16, \d+\]\|\S.* \(default\)\|.*s, [\d.]+ % of the time\|.*GFLOP/s, .*of the peak\|.*of memory\|.*of the roof", tip), "hover_tells_the_kernel", tip)
    names = browser.eval(COLUMN + "(0)")
    check(names == [k["kernel"] for k in data["kernels"]] and len(names) >= 3, "table_is_by_time", names)
    browser.eval('document.querySelectorAll("#kernels-table .sort")[0].click()')
    first = browser.eval(COLUMN + "(0)")
    browser.eval('document.querySelectorAll("#kernels-table .sort")[0].click()')
    check(first == sorted(names) and browser.eval(COLUMN + "(0)") == sorted(names, reverse=True), "headings_sort_both_ways", first)
    check(browser.eval('document.activeElement.textContent') == "Kernel" and browser.eval('document.querySelector("[aria-sort]").getAttribute("aria-sort")') == "descending", "sorting_keeps_the_focus")
    check(set(browser.eval(COLUMN + "(2)")) == {"default"}, "choice_is_shown")
    check(not browser.errors, "acting_nothing_on_the_console", browser.errors)


def on_paper(browser, page):
    """Schedules get room on a printed page: about as wide as A4 less its margins."""
    browser.open(page, width=700, height=1000)
    browser.call("Emulation.setEmulatedMedia", media="print")
    narrowest = browser.eval('Math.min(...[...document.querySelectorAll("#kernels-table td.wide")].map(x => x.getBoundingClientRect().width))')
    check(narrowest > 90, "paper_has_room_for_schedules", narrowest)
    browser.call("Emulation.setEmulatedMedia", media="")


def main():
    if not shutil.which("chromium"):
        print("1..0 # SKIP needs chromium")
        return 0
    top = KEEP or tempfile.mkdtemp(prefix="profile-page-")
    page, data = profile(top, "measured", measured(top))
    bare, _ = profile(top, "unmeasured", dict(os.environ, XDG_CACHE_HOME=os.path.join(top, "none")))

    def checks(browser):
        text = pages.looks(browser, top, "measured", page, 1)
        check("onerror=alert(1)" in text and "of the roof" in text, "texts_stay_texts")
        draws(browser, page, data)
        acts(browser, page, data)
        on_paper(browser, page)
        text = pages.looks(browser, top, "unmeasured", bare, 1)
        check("hone doctor --measure" in text and "of the roof" not in text, "unmeasured_says_so")

    return pages.in_browser(top, KEEP, checks)


if __name__ == "__main__":
    sys.exit(main())
