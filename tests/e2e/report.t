#!/usr/bin/env python3
"""Reports in a real browser: nothing on the console, every picture drawn, nothing sticks out on a phone, dark and paper have
their own colours, texts of any origin stay texts. TAP. HONE_KEEP=DIR keeps the screenshots."""
import json, os, re, shutil, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import chromium  # noqa: E402

HONE = os.environ.get("HONE", os.path.join(HERE, "../../build/asan/hone"))
MAKE = os.path.join(os.path.dirname(HONE), "tests/helper/report_store")
KEEP = os.environ.get("HONE_KEEP")
KINDS = {"kept": 4, "pair": 4, "signed": 2, "hostile": 3, "rejected": 3, "empty": 0}  # pictures each has
count = failed = 0

# How many pixels of each canvas differ from the first: a picture has lines, an empty canvas is all of one colour.
INK = """[...document.querySelectorAll("canvas")].filter(c => c.offsetParent).map(c => {
  const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data; let n = 0;
  for (let i = 4; i < d.length; i += 4) n += d[i] !== d[0] || d[i + 1] !== d[1] || d[i + 2] !== d[2] || d[i + 3] !== d[3];
  return n; })"""
# Worst contrast (WCAG 2.1) between a text and what lies behind it.
CONTRAST = """(() => {
  const rgb = s => s.match(/[\\d.]+/g).map(Number), lum = c => { const f = c.slice(0, 3).map(v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4); return .2126 * f[0] + .7152 * f[1] + .0722 * f[2]; };
  const behind = e => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  let worst = 99, where = "";
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let n; (n = walk.nextNode());) {
    const e = n.parentElement;
    if (!n.data.trim() || /SCRIPT|STYLE|NOSCRIPT|OPTION/.test(e.tagName) || !e.offsetParent) continue;
    const a = lum(rgb(getComputedStyle(e).color)), b = lum(behind(e)), c = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (c < worst) { worst = c; where = e.tagName + " " + n.data.slice(0, 30); }
  }
  return [worst, where]; })()"""


def check(fine, name, detail=""):
    global count, failed
    count += 1
    failed += not fine
    print(f"{'' if fine else 'not '}ok {count} - e2e/report_{name}", flush=True)
    if not fine:
        print("".join(f"# {line}\n" for line in str(detail).splitlines()[:20]), end="")


def looks(browser, top, kind, page):
    """One page in each of its dresses."""
    browser.open(page)
    text = browser.eval("document.body.innerText")
    check(not browser.errors, f"{kind}_nothing_on_the_console", browser.errors)
    check(len(browser.requests) == 1, f"{kind}_loads_nothing", browser.requests)
    ink = browser.eval(INK)
    check(len(ink) == KINDS[kind] and all(n > 300 for n in ink), f"{kind}_every_picture_is_drawn", ink)
    check(browser.eval('document.querySelectorAll("img, body iframe, body b, body i, body object").length') == 0 and
          browser.eval('document.querySelectorAll("script").length') == 3, f"{kind}_texts_make_no_elements")
    labels = browser.eval('[...document.querySelectorAll("canvas")].filter(c => c.offsetParent).map(c => c.getAttribute("aria-label") || "")')
    check(all(len(x) > 20 for x in labels), f"{kind}_pictures_have_words", labels)
    tables = browser.eval('[...document.querySelectorAll("section:not([hidden])")].filter(s => s.querySelector("canvas") && !s.querySelector("table")).map(s => s.id)')
    check(tables == [], f"{kind}_pictures_have_tables", tables)
    for dark in (False, True):
        name = "dark" if dark else "light"
        browser.open(page, dark=dark)
        worst = browser.eval(CONTRAST)
        check(worst[0] >= 4.5, f"{kind}_{name}_contrast", worst)
        ground = browser.eval("getComputedStyle(document.body).backgroundColor")
        check((sum(map(int, re.findall(r"\d+", ground)[:3])) < 200) == dark, f"{kind}_{name}_ground", ground)
        browser.screenshot(os.path.join(top, f"{kind}-{name}.png"))
    browser.open(page, width=390, height=844, phone=True)
    wide = browser.eval("[document.documentElement.scrollWidth, innerWidth]")
    check(wide == [390, 390], f"{kind}_phone_has_no_overflow", wide)
    browser.eval('document.querySelectorAll("details").forEach(d => d.open = true)')
    wide = browser.eval("[document.documentElement.scrollWidth, innerWidth]")
    check(wide == [390, 390], f"{kind}_phone_has_no_overflow_with_all_tables", wide)
    check(all(n > 300 for n in browser.eval(INK)) and not browser.errors, f"{kind}_phone_pictures", browser.errors)
    browser.screenshot(os.path.join(top, f"{kind}-phone.png"))
    return text


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


def main():
    if not shutil.which("chromium"):
        print("1..0 # SKIP needs chromium")
        return 0
    top = KEEP or tempfile.mkdtemp(prefix="report-")
    pages = {}
    for kind in KINDS:
        folder = os.path.join(top, kind)
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        subprocess.run([MAKE, folder, kind], check=True)
        pages[kind] = os.path.join(folder, "report.html")
        run = subprocess.run([HONE, "report"], cwd=folder, capture_output=True, text=True)
        check(run.returncode == 0, f"{kind}_is_written", run.stderr)
    browser = None
    try:
        browser = chromium.Chromium()
        text = {kind: looks(browser, top, kind, pages[kind]) for kind in KINDS}
        check("1.081" in text["kept"] and "gcc -O3 -funroll-loops -DTILE=32" in text["kept"], "kept_says_gain_and_flags")
        check("not validated: the search claims" in text["pair"].lower() and "hone validate" in text["pair"], "unproven_says_so")
        check("the tail is worse" in text["rejected"] and "rejected candidate" in text["rejected"], "rejected_says_why")
        check("onerror=alert(1)" in text["hostile"] and "alert(3)" in text["hostile"], "hostile_texts_are_shown")
        check("18446744073709551615" in text["kept"] and "aaaabbbbccccddddeeeeffff00001111" in text["kept"], "provenance_is_exact")
        acts(browser, pages["kept"])
        on_paper(browser, top, pages["kept"])
        with open(pages["kept"], encoding="utf-8") as f:
            html = f.read()
        check("THE SOFTWARE IS PROVIDED" in html and "Chart.js Contributors" in html, "licence_of_chart_js_is_kept")
        check(not re.search(r'(src|href)="(https?:)?//', html), "nothing_from_elsewhere")
        json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', html, re.S).group(1))
        check(True, "data_is_json")
    except chromium.Failed as why:
        check(False, "browser", why)
    finally:
        if browser:
            browser.close()
        if not KEEP:
            shutil.rmtree(top, ignore_errors=True)
    print(f"1..{count}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
