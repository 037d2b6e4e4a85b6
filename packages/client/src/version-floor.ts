/** The newest resourceVersion that this process has seen: what keeps a reader from travelling back in time. */
export interface VersionFloor {
  saw(resourceVersion: string | undefined): void;
  /** What to send for a wanted version: '0' (whatever is there) becomes "not older than what was seen". */
  apply(wanted: string | undefined): string;
}

export function createVersionFloor(): VersionFloor {
  let newest = 0;
  return {
    saw: (resourceVersion) => {
      const version = Number(resourceVersion ?? '');
      if (Number.isSafeInteger(version) && version > newest) newest = version;
    },
    apply: (wanted = '') => (wanted === '0' && newest > 0 ? String(newest) : wanted),
  };
}
