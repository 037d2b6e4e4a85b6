/** One test of the official program. */
export interface OfficialTest {
  /** Its full name, tags included, by which the program selects and reports it. */
  readonly name: string;
  /** The special interest group that owns it, such as `sig-network`. */
  readonly area: string;
  /** Whether it may run beside others. */
  readonly schedule: 'parallel' | 'serial';
}

const LINE = /^ {4}\S+?:\d+: (\[(sig-[a-z-]+)\].*)$/;

/** Reads what `e2e.test --list-tests` prints. Tests that no special interest group owns are none of Kubernetes' own. */
export function parseTestList(text: string): readonly OfficialTest[] {
  return text.split('\n').flatMap((line) => {
    const [, name, area] = LINE.exec(line) ?? [];
    if (name === undefined || area === undefined) return [];
    return [{ name, area, schedule: name.includes('[Serial]') ? ('serial' as const) : ('parallel' as const) }];
  });
}

export const isConformance = (test: OfficialTest) => test.name.includes('[Conformance]');

/** The areas whose tests beyond conformance are claimed. */
export const CLAIMED_AREAS: readonly string[] = [
  'sig-api-machinery',
  'sig-apps',
  'sig-auth',
  'sig-cli',
  'sig-network',
  'sig-node',
  'sig-scheduling',
  'sig-storage',
];

/** Tags of tests that a cluster need not pass: they break it, are unreliable, need a driver of others, or something switched on. */
const NOT_CLAIMED = /\[(?:Disruptive|Flaky|Alpha|Driver: ?[^\]]*|Feature:[^\]]*|FeatureGate:[^\]]*\] \[Alpha)\]/;

/** Features that are on in every cluster. */
const CLAIMED_FEATURES = /\[Feature:NetworkPolicy\]/;

/** Whether `--all` runs the test in addition to the conformance suite. */
export function isClaimedBeyondConformance(test: OfficialTest): boolean {
  return (
    !isConformance(test) &&
    CLAIMED_AREAS.includes(test.area) &&
    !NOT_CLAIMED.test(test.name.replace(CLAIMED_FEATURES, ''))
  );
}
