import { ignoreNotFound } from '@gantry/client';
import { carryOut, type ControllerContext, type ControllerSpec, findObject } from '@gantry/controller-runtime';
import {
  formatKey,
  keyOf,
  type ObjectKey,
  type Secret,
  SECRETS,
  SERVICE_ACCOUNTS,
  StatusError,
  type TokenRequest,
} from '@gantry/objects';
import {
  accountNameOf,
  type Action,
  deletedTokenSecret,
  type DeletedTokenSecret,
  type DropReference,
  planTokenSecret,
  planTokenSecretReference,
  tokenRequestFor,
  withToken,
} from './plan.ts';

/**
 * Fills Secrets of type `kubernetes.io/service-account-token`, and removes deleted ones from their accounts' lists. `readCa` returns the
 * newest PEM.
 */
export function createTokenSecretController(readCa: () => string): ControllerSpec {
  /** Token secrets whose deletion was seen, by key. */
  const deleted = new Map<string, DeletedTokenSecret>();
  return {
    name: 'token-secret',
    eventSource: 'tokens-controller',
    watches: [
      {
        resource: SECRETS,
        keys: (secret, old) => {
          const object = secret ?? old;
          if (object === undefined) return [];
          const key = keyOf(object);
          const gone = secret === undefined ? deletedTokenSecret(object) : undefined;
          if (gone !== undefined) deleted.set(formatKey(key), gone);
          return [key];
        },
      },
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
    begin: () => deleted.clear(),
    reconcile: async (key, context, signal) => {
      await dropReference(key, deleted, context, signal);
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

/** A failed write is repeated with the key; the memory is kept until then. */
async function dropReference(
  key: ObjectKey,
  deleted: Map<string, DeletedTokenSecret>,
  { cache, client, clock }: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const id = formatKey(key);
  const gone = deleted.get(id);
  if (gone === undefined) return;
  const account = cache.get(SERVICE_ACCOUNTS, { namespace: key.namespace, name: gone.accountName });
  const plan = planTokenSecretReference(gone, account);
  const update = (action: DropReference) => ignoreNotFound(client.update(SERVICE_ACCOUNTS, action.account, signal));
  await carryOut(plan, update, clock);
  deleted.delete(id);
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
  // The account was deleted meanwhile; the next reconcile deletes the Secret.
  if (token === undefined)
    throw StatusError.conflict(SECRETS, secret.metadata.name ?? '', 'its service account has gone');
  return token;
}
