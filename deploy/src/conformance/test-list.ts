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

/** Why a test is not claimed, and the tags of such tests; the first that matches counts. */
const NOT_CLAIMED: readonly (readonly [string, RegExp])[] = [
  ['breaks the cluster, or needs ssh to nodes', /\[Disruptive\]/],
  ['unreliable, its authors say', /\[Flaky\]/],
  ['of a feature that is off by default', /\[(?:Alpha|Feature:OffByDefault|FeatureGate:[^\]]*\] \[Alpha)\]/],
  ['of what agents do not have: users of their own', /\[Feature:UserNamespacesSupport\]/],
  [
    'of a driver of others',
    /\[Driver: ?[^\]]*\]|\] CSI |\] (?:Mutable)?CSI[A-Z]|\] PersistentVolumes NFS |\[DRA\] control plane |DynamicProvisioner External |\] Flexvolumes |gce-localssd/,
  ],
  ['of a setup of its own', /\[Feature:[^\]]*\]/],
];

/** Tags of features that are on in every cluster, and of volumes that a node has without a driver. */
const CLAIMED_TAGS =
  /\[Feature:(?:NetworkPolicy|InPlacePodVerticalScaling|SupplementalGroupsPolicy|EnvFiles|HostAccess|Example|PodLevelResources)\]|\[Driver: (?:emptydir|hostPath|hostPathSymlink|local)\]/g;

/** Why a test of a claimed area that is not of the conformance suite is not claimed; nothing for one that is. */
export function reasonNotClaimed(test: OfficialTest): string | undefined {
  const name = test.name.replaceAll(CLAIMED_TAGS, '');
  return NOT_CLAIMED.find(([, tags]) => tags.test(name))?.[0];
}

/** Whether `--all` and `--beyond` run the test in addition to the conformance suite. */
export function isClaimedBeyondConformance(test: OfficialTest): boolean {
  return !isConformance(test) && CLAIMED_AREAS.includes(test.area) && reasonNotClaimed(test) === undefined;
}
