import {
  isReason,
  keyOf,
  type ObjectKey,
  type Secret,
  type ServiceAccount,
  StatusError,
  type TokenRequest,
} from '@gantry/api';
import { type ControllerContext, type ControllerSpec, type Result, watchSelf } from '@gantry/controller-runtime';
import { ignoreNotFound } from '../ignore-not-found.ts';
import { SECRETS, SERVICE_ACCOUNTS } from '../resources.ts';
import { accountNameOf, type Action, planTokenSecret } from './plan.ts';

/** As long as the API gives tokens for: such secrets are meant to last. */
const LIFETIME_SECONDS = 10 * 365 * 86_400;

/** Fills Secrets of type `kubernetes.io/service-account-token`. `readCa` gives the newest PEM. */
export function createTokenSecretController(readCa: () => string): ControllerSpec {
  return {
    name: 'token-secret',
    eventSource: 'tokens-controller',
    watches: [
      watchSelf(SECRETS),
      {
        resource: SERVICE_ACCOUNTS,
        keys: (account, old, cache) => {
          const { namespace = '', name = '' } = (account ?? old)?.metadata ?? {};
          if (account !== undefined && old !== undefined) return [];
          return cache
            .list<Secret>(SECRETS, namespace)
            .filter((secret) => accountNameOf(secret) === name)
            .map(keyOf);
        },
      },
    ],
    reconcile: (key, context, signal) => reconcile(readCa(), key, context, signal),
  };
}

async function reconcile(
  caCertificate: string,
  key: ObjectKey,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<Result> {
  const secret = context.cache.get<Secret>(SECRETS, key);
  const name = secret === undefined ? undefined : accountNameOf(secret);
  if (secret === undefined || name === undefined) return {};
  const account = await findAccount({ namespace: key.namespace, name }, context, signal);
  for (const action of planTokenSecret({ secret, account, caCertificate })) {
    await execute(secret, name, action, context, signal);
  }
  return {};
}

/** The cache may say that an account is there; that it is not, only the store may. */
async function findAccount(
  key: ObjectKey,
  { cache, client }: ControllerContext,
  signal: AbortSignal,
): Promise<ServiceAccount | undefined> {
  const cached = cache.get<ServiceAccount>(SERVICE_ACCOUNTS, key);
  return cached ?? (await ignoreNotFound(client.get<ServiceAccount>(SERVICE_ACCOUNTS, key, signal)));
}

async function execute(
  secret: Secret,
  account: string,
  action: Action,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client } = context;
  const key = keyOf(secret);
  if (action.kind === 'delete') {
    const { uid } = secret.metadata;
    const preconditions = uid === undefined ? {} : { uid };
    await ignoreNotFound(client.write({ verb: 'delete', resource: SECRETS, key, options: { preconditions } }, signal));
    return;
  }
  const object: Secret =
    action.token === 'keep'
      ? action.secret
      : {
          ...action.secret,
          data: { ...action.secret.data, token: await requestToken(secret, account, context, signal) },
        };
  await ignoreNotFound(client.write({ verb: 'update', resource: SECRETS, key, object }, signal));
}

/** A token that is good as long as the secret is there, in base64. */
async function requestToken(
  secret: Secret,
  account: string,
  { client }: ControllerContext,
  signal: AbortSignal,
): Promise<string> {
  const { namespace = '', name = '', uid = '' } = secret.metadata;
  const request: TokenRequest = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    metadata: {},
    spec: {
      audiences: [],
      expirationSeconds: LIFETIME_SECONDS,
      boundObjectRef: { apiVersion: 'v1', kind: 'Secret', name, uid },
    },
  };
  try {
    const answer = await client.write<TokenRequest>(
      { verb: 'create', resource: SERVICE_ACCOUNTS, namespace, name: account, object: request, subresource: 'token' },
      signal,
    );
    return Buffer.from(answer.status?.token ?? '').toString('base64');
  } catch (error) {
    // The account may have gone since: then the secret goes with it, by its event.
    if (isReason(error, 'NotFound')) throw StatusError.conflict(SECRETS, name, 'its service account has gone');
    throw error;
  }
}
