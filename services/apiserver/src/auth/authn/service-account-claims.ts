/** The issuer of service account tokens, and their default audience. */
export const ISSUER = 'https://kubernetes.default.svc';

/** An object that a token names. */
export interface NameAndUid {
  readonly name: string;
  readonly uid: string;
}

/** The private claim of a bound service account token. */
export interface KubernetesClaim {
  readonly namespace: string;
  readonly serviceaccount: NameAndUid;
  readonly pod?: NameAndUid;
  readonly secret?: NameAndUid;
  readonly node?: NameAndUid;
}

/** Parses the private claim. Undefined when it is invalid. */
export function parseKubernetesClaim(value: unknown): KubernetesClaim | undefined {
  if (value === null || typeof value !== 'object') return undefined;
  const claim = value as Record<string, unknown>;
  const serviceaccount = parseRef(claim.serviceaccount);
  if (typeof claim.namespace !== 'string' || serviceaccount === undefined) return undefined;
  const out: { -readonly [K in keyof KubernetesClaim]: KubernetesClaim[K] } = {
    namespace: claim.namespace,
    serviceaccount,
  };
  for (const kind of ['pod', 'secret', 'node'] as const) {
    if (claim[kind] === undefined) continue;
    const ref = parseRef(claim[kind]);
    if (ref === undefined) return undefined;
    out[kind] = ref;
  }
  return out;
}

function parseRef(value: unknown): NameAndUid | undefined {
  if (value === null || typeof value !== 'object') return undefined;
  const { name, uid } = value as Record<string, unknown>;
  return typeof name === 'string' && typeof uid === 'string' ? { name, uid } : undefined;
}

/** The user name of a service account. */
export function serviceAccountUser(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`;
}
