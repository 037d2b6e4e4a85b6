import type { Reporter, TestCase, TestModule, TestSuite } from 'vitest/node';

const EVERY_MS = 10_000;
const MOST = 4;

interface Hook {
  readonly name: string;
  readonly entity: TestCase | TestSuite | TestModule;
}

/**
 * A reporter for Vitest that says every ten seconds which tests and hooks have been running for longer than that, the
 * longest first, so that a slow test can be told from one that hangs.
 */
export default class RunningTests implements Reporter {
  readonly #startedAt = new Map<string, { readonly title: string; readonly at: number }>();
  readonly #write: (line: string) => unknown;
  readonly #now: () => number;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: { readonly write?: (line: string) => unknown; readonly now?: () => number } = {}) {
    this.#write = options.write ?? ((line) => process.stdout.write(line));
    this.#now = options.now ?? (() => performance.now());
  }

  onTestRunStart(): void {
    this.#timer = setInterval(() => this.report(), EVERY_MS).unref();
  }

  onTestRunEnd(): void {
    clearInterval(this.#timer);
    this.#startedAt.clear();
  }

  onTestCaseReady(test: TestCase): void {
    this.#startedAt.set(test.id, { title: titleOf(test), at: this.#now() });
  }

  onTestCaseResult(test: TestCase): void {
    this.#startedAt.delete(test.id);
  }

  onHookStart({ name, entity }: Hook): void {
    this.#startedAt.set(`${name} ${entity.id}`, { title: `${name} of ${titleOf(entity)}`, at: this.#now() });
  }

  onHookEnd({ name, entity }: Hook): void {
    this.#startedAt.delete(`${name} ${entity.id}`);
  }

  /** Prints what has been running for ten seconds or more. */
  report(): void {
    const running = [...this.#startedAt.values()]
      .map(({ title, at }) => ({ title, seconds: Math.round((this.#now() - at) / 1000) }))
      .filter(({ seconds }) => seconds >= EVERY_MS / 1000);
    const longest = running.toSorted((one, other) => other.seconds - one.seconds).slice(0, MOST);
    for (const { title, seconds } of longest) this.#write(`   … ${seconds} s: ${title}\n`);
    if (running.length > MOST) this.#write(`   … and ${running.length - MOST} more\n`);
  }
}

function titleOf(entity: TestCase | TestSuite | TestModule): string {
  if (entity.type === 'module') return entity.relativeModuleId;
  return `${entity.module.relativeModuleId} > ${entity.fullName}`;
}
