import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import type { Cluster } from './cluster.ts';
import { runProgram } from './process.ts';

/** Debian's package. */
const CHROMIUM = '/usr/bin/chromium';
const ACTION_MS = 60_000;
/** As root, Chromium has no sandbox. */
const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
}

/** The console of a cluster in a real browser. */
export class ConsoleBrowser implements AsyncDisposable {
  readonly origin: string;
  readonly #cluster: Cluster;
  readonly #browser: Browser;
  /** What a page must never report: errors of scripts, and violations of the Content-Security-Policy. */
  readonly complaints: string[] = [];

  private constructor(cluster: Cluster, browser: Browser) {
    const port = /^GANTRY_CONSOLE_PORT=(\d+)$/m.exec(readFileSync(join(cluster.home, 'env'), 'utf8'))?.[1] ?? '';
    this.origin = `http://127.0.0.1:${port}`;
    this.#cluster = cluster;
    this.#browser = browser;
  }

  static async start(cluster: Cluster): Promise<ConsoleBrowser> {
    return new ConsoleBrowser(cluster, await chromium.launch({ executablePath: CHROMIUM, args: FLAGS }));
  }

  /** A page of a new browser profile, at the sign-in form. */
  async page(options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
    const context = await this.#browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    await this.#watch(context);
    const page = await context.newPage();
    page.setDefaultTimeout(ACTION_MS);
    page.on('pageerror', ({ message }) => this.complaints.push(message));
    return page;
  }

  async #watch(context: BrowserContext): Promise<void> {
    await context.exposeBinding('complain', (_, complaint: string) => void this.complaints.push(complaint));
    await context.addInitScript(`addEventListener('securitypolicyviolation', (event) =>
      window.complain(event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sourceFile))`);
  }

  /** The address of a one-time link, as `npm run console` prints it. */
  async link(): Promise<string> {
    const { code, stdout, stderr } = await runProgram(join(this.#cluster.root, 'deploy/bin/console'), [], {
      env: { GANTRY_HOME: this.#cluster.home, DISPLAY: '', WAYLAND_DISPLAY: '' },
    });
    const found = /http:\S+#code=\S+/.exec(stdout)?.[0];
    if (code !== 0 || found === undefined) throw new Error(`console ended with ${code}: ${stderr}${stdout}`);
    return found;
  }

  /** A page that has signed in by a link, as administrator. */
  async signedIn(options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
    const page = await this.page(options);
    await page.goto(await this.link());
    await page.getByRole('heading', { name: 'Cluster', level: 1 }).waitFor();
    return page;
  }

  /** A page that has signed in with a token of a ServiceAccount. */
  async signedInAs(namespace: string, account: string): Promise<Page> {
    const token = await this.#cluster.mustKubectl(['create', 'token', account, '-n', namespace]);
    const page = await this.page();
    await page.goto(this.origin);
    await page.getByLabel('Token of a ServiceAccount').fill(token.trim());
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Cluster', level: 1 }).waitFor();
    return page;
  }

  open(page: Page, path: string): Promise<unknown> {
    return page.goto(`${this.origin}${path}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#browser.close();
  }
}

/** Waits until the terminal of a page takes what is typed. */
export async function terminalHasFocus(page: Page): Promise<void> {
  // Without output, the field has no size.
  await page.locator('.xterm-helper-textarea:focus').waitFor({ state: 'attached' });
}

/** Fails with what axe finds on the page that is serious. */
export async function expectAccessible(page: Page): Promise<void> {
  // A page whose policy allows no inline script gets it over the debugger.
  await page.evaluate(axe.source);
  const findings: readonly Finding[] =
    await page.evaluate(`axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
    violations.filter(({ impact }) => impact === 'serious' || impact === 'critical'))`);
  const said = findings.map(({ id, nodes }) =>
    [id, ...nodes.slice(0, 3).map(({ target, failureSummary = '' }) => `${target.join(' ')}: ${failureSummary}`)].join(
      '\n',
    ),
  );
  expect(said, page.url()).toEqual([]);
}
