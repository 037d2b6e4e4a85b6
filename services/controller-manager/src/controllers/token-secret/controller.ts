import { ignoreNotFound } from '@gantry/client';
import {
  carryOut,
  type ControllerContext,
  type ControllerSpec,
  findObject,
  watchSelf,
} from '@gantry/controller-runtime';
import {
  keyOf,
  type ObjectKey,
  type Secret,
  SECRETS,
  SERVICE_ACCOUNTS,
  StatusError,
  type TokenRequest,
} from '@gantry/objects';
import { accountNameOf, type Action, planTokenSecret, tokenRequestFor, withToken } from './plan.ts';

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
            .list(SECRETS, namespace)
            .filter((secret) => accountNameOf(secret) === name)
            .map(keyOf);
        },
      },
    ],
    reconcile: async (key, context, signal) => {
      const secret = context.cache.get(SECRETS, key);
      const name = secret === undefined ? undefined : accountNameOf(secret);
      if (secret === undefined || name === undefined) return {};
      const accountKey = { namespace: key.namespace, name };
      const account = await findObject(SERVICE_ACCOUNTS, accountKey, context, signal);
      const plan = planTokenSecret({ secret, account, caCertificate: readCa() });
      return await carryOut(plan, (action) => execute(secret, accountKey, action, context, signal), context.clock);
    },
  };
}

async function execute(
  secret: Secret,
  account: ObjectKey,
  action: Action,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client } = context;
  if (action.kind === 'delete') {
    await ignoreNotFound(client.delete(SECRETS, keyOf(secret), { uid: secret.metadata.uid }, signal));
    return;
  }
  const token = action.token === 'keep' ? undefined : await requestToken(secret, account, context, signal);
  const object = token === undefined ? action.secret : withToken(action.secret, token);
  await ignoreNotFound(client.update(SECRETS, object, signal));
}

async function requestToken(
  secret: Secret,
  account: ObjectKey,
  { client }: ControllerContext,
  signal: AbortSignal,
): Promise<TokenRequest> {
  const at = { ...account, subresource: 'token' };
  const token = await ignoreNotFound(client.createSubresource(SERVICE_ACCOUNTS, at, tokenRequestFor(secret), signal));
  // The account was deleted meanwhile: the next reconcile deletes the secret.
  if (token === undefined)
    throw StatusError.conflict(SECRETS, secret.metadata.name ?? '', 'its service account has gone');
  return token;
}
