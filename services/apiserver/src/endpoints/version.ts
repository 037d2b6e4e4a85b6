/** The Kubernetes API that is spoken. The one place that states it. */
export const KUBERNETES_VERSION = { major: 1, minor: 36, patch: 2 } as const;

/** What `/version` answers. */
export function versionInfo(): Readonly<Record<string, string>> {
  const { major, minor, patch } = KUBERNETES_VERSION;
  return {
    major: String(major),
    minor: String(minor),
    emulationMajor: String(major),
    emulationMinor: String(minor),
    minCompatibilityMajor: String(major),
    minCompatibilityMinor: String(minor - 1),
    gitVersion: `v${major}.${minor}.${patch}`,
    gitCommit: '0000000000000000000000000000000000000000',
    gitTreeState: 'clean',
    buildDate: '2026-01-01T00:00:00Z',
    goVersion: `node ${process.version}`,
    compiler: 'node',
    platform: `${process.platform}/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
}

/** The version that OpenAPI documents name. As in Kubernetes, the emulated one, which has no patch. */
export function openApiVersion(): string {
  const { major, minor } = KUBERNETES_VERSION;
  return `${major}.${minor}`;
}
