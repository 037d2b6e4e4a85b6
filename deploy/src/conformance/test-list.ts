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

/** The reasons for which a test is not claimed, with the tags of such tests. The first match counts. */
const NOT_CLAIMED: readonly (readonly [string, RegExp])[] = [
  ['it breaks the cluster or needs SSH to nodes', /\[Disruptive\]/],
  ['its authors mark it as unreliable', /\[Flaky\]/],
  ['its feature is off by default', /\[(?:Alpha|Feature:OffByDefault|FeatureGate:[^\]]*\] \[Alpha)\]/],
  ['agents do not support user namespaces', /\[Feature:UserNamespacesSupport\]/],
  [
    'it needs a driver of another project',
    /\[Driver: ?[^\]]*\]|\] CSI |\] (?:Mutable)?CSI[A-Z]|\] PersistentVolumes NFS |\[DRA\] control plane |DynamicProvisioner External |\] Flexvolumes |gce-localssd/,
  ],
  ['it needs a special setup', /\[Feature:[^\]]*\]/],
];

/** Tags of features that are on in every cluster, and of volumes that need no driver. */
const CLAIMED_TAGS =
  /\[Feature:(?:NetworkPolicy|InPlacePodVerticalScaling|SupplementalGroupsPolicy|EnvFiles|HostAccess|Example|PodLevelResources)\]|\[Driver: (?:emptydir|hostPath|hostPathSymlink|local)\]/g;

/** The reason why a test beyond conformance is not claimed; undefined for a claimed one. */
export function reasonNotClaimed(test: OfficialTest): string | undefined {
  const name = test.name.replaceAll(CLAIMED_TAGS, '');
  return NOT_CLAIMED.find(([, tags]) => tags.test(name))?.[0];
}

/** Whether `--all` and `--beyond` run the test in addition to the conformance suite. */
export function isClaimedBeyondConformance(test: OfficialTest): boolean {
  return !isConformance(test) && CLAIMED_AREAS.includes(test.area) && reasonNotClaimed(test) === undefined;
}
