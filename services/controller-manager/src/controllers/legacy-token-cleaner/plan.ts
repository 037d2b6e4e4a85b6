import { formatDay, type Instant, parseDay, type Plan } from '@gantry/base';
import {
  ACCOUNT_UID_ANNOTATION,
  type Pod,
  type Secret,
  secretsOfPod,
  type ServiceAccount,
  TOKEN_INVALID_SINCE_LABEL,
  TOKEN_LAST_USED_LABEL,
} from '@gantry/objects';

/** The input of the plan, for a Secret of type `kubernetes.io/service-account-token`. */
export interface ObservedToken {
  readonly secret: Secret;
  /** The ServiceAccount that the Secret names. */
  readonly account: ServiceAccount | undefined;
  /** The pods of the Secret's namespace. */
  readonly pods: readonly Pod[];
  /** The day from which API servers record the use of tokens; undefined if unknown. */
  readonly trackedSince: string | undefined;
}

export type Action =
  /** API servers then reject the token. `day` is today. */
  { readonly kind: 'markInvalid'; readonly day: string } | { readonly kind: 'delete' };

const DAY_MS = 86_400_000;
/** How long a token must be unused until it becomes invalid, and then invalid until it is deleted: Kubernetes' default. */
const UNUSED_MS = 365 * DAY_MS;
/** The interval of checks of a Secret, as in Kubernetes. */
export const INTERVAL_MS = DAY_MS;

/**
 * A token that was generated for an account becomes invalid after a year without use; after another year its Secret is deleted. Tokens
 * created by administrators are kept: they are not listed in their account. Kubernetes' LegacySATokenCleaner.
 */
export function planTokenCleanup({ secret, account, pods, trackedSince }: ObservedToken, now: Instant): Plan<Action> {
  const later: Plan<Action> = { actions: [], requeueAt: now + INTERVAL_MS };
  if (secret.metadata.deletionTimestamp !== undefined) return { actions: [] };
  if (!isUnused(secret, trackedSince, now) || !isGenerated(secret, account)) return later;
  if (pods.some((pod) => secretsOfPod(pod).has(secret.metadata.name ?? ''))) return later;
  const invalidSince = secret.metadata.labels?.[TOKEN_INVALID_SINCE_LABEL] ?? '';
  if (parseDay(invalidSince) === undefined) return { actions: [{ kind: 'markInvalid', day: formatDay(now) }] };
  return invalidSince < formatDay(now - UNUSED_MS) ? { actions: [{ kind: 'delete' }] } : later;
}

/** Whether use has been recorded for long enough and there was none. An invalid day counts as unknown. */
function isUnused({ metadata }: Secret, trackedSince: string | undefined, now: Instant): boolean {
  const since = parseDay(trackedSince ?? '');
  // On the first day, use was not recorded for the whole day.
  if (since === undefined || now < since + DAY_MS + UNUSED_MS) return false;
  const createdAt = Date.parse(metadata.creationTimestamp ?? '');
  if (!(createdAt < now - UNUSED_MS)) return false;
  const lastUsed = metadata.labels?.[TOKEN_LAST_USED_LABEL];
  return lastUsed === undefined || (parseDay(lastUsed) !== undefined && lastUsed < formatDay(now - UNUSED_MS));
}

/** Whether the account lists the Secret, as it does for generated ones. */
function isGenerated({ metadata }: Secret, account: ServiceAccount | undefined): boolean {
  const uid = metadata.annotations?.[ACCOUNT_UID_ANNOTATION] ?? '';
  if (account === undefined || (uid !== '' && uid !== account.metadata.uid)) return false;
  return (account.secrets ?? []).some(({ name }) => name === metadata.name);
}
