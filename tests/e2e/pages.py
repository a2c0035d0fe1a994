"""What every page that hone writes has to stand in a real browser: used by report.t and profile_page.t. TAP."""
import os, re, shutil

import chromium

count = failed = 0
prefix = "pages"  # of the names of all checks

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
    print(f"{'' if fine else 'not '}ok {count} - e2e/{prefix}_{name}", flush=True)
    if not fine:
        print("".join(f"# {line}\n" for line in str(detail).splitlines()[:20]), end="")


def done():
    print(f"1..{count}")
    return failed != 0


def in_browser(top, kept, checks):
    """Runs checks(browser); the folder of the pages goes afterwards, unless it is kept."""
    browser = None
    try:
        browser = chromium.Chromium()
        checks(browser)
    except chromium.Failed as why:
        check(False, "browser", why)
    finally:
        if browser:
            browser.close()
        if not kept:
            shutil.rmtree(top, ignore_errors=True)
    return done()


def looks(browser, top, kind, page, pictures):
    """One page in each of its dresses; pictures: how many it has."""
    browser.open(page)
    text = browser.eval("document.body.innerText")
    check(not browser.errors, f"{kind}_nothing_on_the_console", browser.errors)
    check(len(browser.requests) == 1, f"{kind}_loads_nothing", browser.requests)
    ink = browser.eval(INK)
    check(len(ink) == pictures and all(n > 300 for n in ink), f"{kind}_every_picture_is_drawn", ink)
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
