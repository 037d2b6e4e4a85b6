import type { TestResult } from './test-result.ts';

/** A test's end; failures are marked, and so are tests that were interrupted, which have no result. */
const END = /^(?:•|S|P) (?:\[([A-Z]+)!?\] )?\[([\d.]+) seconds\]/;
const OUTCOMES: Readonly<Record<string, TestResult['outcome']>> = {
  FAILED: 'failed',
  PANICKED: 'failed',
  TIMEDOUT: 'failed',
  SKIPPED: 'skipped',
};
/** Within the name of a test that failed, the node in which it did. */
const NODE = / \[(?:It|BeforeEach|JustBeforeEach|AfterEach|JustAfterEach|BeforeAll|AfterAll|DeferCleanup[^\]]*)\]/;

/**
 * Reads which tests have ended from what Ginkgo prints with `-v`, line by line. A test's name stands before its end where tests
 * run one by one, and after it where they run together or failed; labels follow it. (What the program posts to its own
 * `--progress-report-url` names no test.)
 */
export class OutputReader {
  readonly #names: readonly string[];
  #named: string | undefined;
  #ended: Omit<TestResult, 'name'> | undefined;

  constructor(names: readonly string[]) {
    // The longest first: a name may begin with another.
    this.#names = names.toSorted((one, other) => other.length - one.length);
  }

  /** The test that is known to have ended with this line. */
  read(line: string): TestResult | undefined {
    const named = line.startsWith('[sig-') ? this.#find(line) : undefined;
    const ended = this.#ended;
    if (ended !== undefined) {
      const name = named ?? this.#named;
      this.#ended = undefined;
      this.#named = undefined;
      return name === undefined ? undefined : { name, ...ended };
    }
    if (named !== undefined) this.#named = named;
    const [, mark, seconds] = END.exec(line) ?? [];
    if (seconds === undefined) return undefined;
    const outcome = mark === undefined ? 'passed' : OUTCOMES[mark];
    if (outcome === undefined) this.#named = undefined;
    else this.#ended = { outcome, seconds: Number(seconds) };
    return undefined;
  }

  #find(line: string): string | undefined {
    const text = line.replace(NODE, '');
    return this.#names.find((name) => text === name || text.startsWith(`${name} [`));
  }
}
