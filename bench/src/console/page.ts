import { type Browser, type CDPSession, chromium, type Page } from 'playwright-core';

/** Debian's package, which `deploy/bin/ensure-chromium` installs. */
const CHROMIUM = '/usr/bin/chromium';
/** As root, Chromium has no sandbox. */
const FLAGS = ['--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking'];
const LIMIT_MS = 300_000;
/** Records the times between two frames, in milliseconds, until they are read. */
const COUNT_FRAMES = `(() => {
  const frames = (window.__frames = []);
  let last;
  const step = (now) => {
    if (last !== undefined) frames.push(now - last);
    last = now;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})()`;

interface FirstView {
  /** Since the beginning of the navigation: the first text or line, and the whole picture. */
  readonly paintMs: number;
  readonly completeMs: number;
  /** Files of the page as they are sent: compressed. */
  readonly fileBytes: number;
}

/** The page of a console in Chromium, signed in. */
export class MeasuredPage implements AsyncDisposable {
  readonly #browser: Browser;
  readonly #page: Page;
  readonly #session: CDPSession;
  readonly #origin: string;

  private constructor(browser: Browser, page: Page, session: CDPSession, origin: string) {
    this.#browser = browser;
    this.#page = page;
    this.#session = session;
    this.#origin = origin;
  }

  static async signIn(origin: string, token: string): Promise<MeasuredPage> {
    const browser = await chromium.launch({ executablePath: CHROMIUM, args: FLAGS });
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    page.setDefaultTimeout(LIMIT_MS);
    await page.goto(origin);
    await page.getByLabel('Token of a ServiceAccount').fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Cluster', level: 1 }).waitFor();
    return new MeasuredPage(browser, page, await page.context().newCDPSession(page), origin);
  }

  /** Opens a view, and waits until it shows a text. */
  async open(path: string, shows: string | RegExp): Promise<FirstView> {
    const startedAt = performance.now();
    await this.#page.goto(`${this.#origin}${path}`, { waitUntil: 'commit' });
    await this.#page.getByText(shows).first().waitFor();
    const completeMs = performance.now() - startedAt;
    const paintMs = await this.#page.evaluate<number>(
      `performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN`,
    );
    const fileBytes = await this.#page.evaluate<number>(
      `performance.getEntriesByType('resource').filter(({ name }) => name.includes('/assets/'))
        .reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0)`,
    );
    await this.#page.evaluate(COUNT_FRAMES);
    return { paintMs, completeMs, fileBytes };
  }

  /** The frames since `open` or the last call: milliseconds between two. */
  takeFrames(): Promise<readonly number[]> {
    return this.#page.evaluate('window.__frames.splice(0)');
  }

  /** Types into the filter of a table; milliseconds until it shows a text. */
  async filter(text: string, shows: string | RegExp): Promise<number> {
    const startedAt = performance.now();
    await this.#page.getByLabel('Filter', { exact: true }).fill(text);
    await this.#page.getByText(shows).first().waitFor();
    return performance.now() - startedAt;
  }

  /** Turns the wheel over the rows of a table. */
  async scroll(turns: number, px: number): Promise<void> {
    await this.#page.getByRole('table').hover({ position: { x: 200, y: 200 } });
    for (let turn = 0; turn < turns; turn++) await this.#page.mouse.wheel(0, px);
  }

  /** MiB of the JavaScript heap that are in use, after a collection. */
  async heapMib(): Promise<number> {
    await this.#session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await this.#session.send('Runtime.getHeapUsage');
    return usedSize / 2 ** 20;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
  }
}
