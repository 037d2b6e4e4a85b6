import type { HttpClient, HttpTarget } from '@gantry/client';
import { errorMessage } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import { CommandError } from '../machine/command-error.ts';

/** Who acts in the console for the holder of a client certificate: a browser's session has a token, and a certificate has none. */
const ACCOUNT = { namespace: 'kube-system', name: 'console-administrator' } as const;
const LIFE_SECONDS = 12 * 3600;
const APPLY = 'application/apply-patch+yaml';
const MANAGER = 'fieldManager=gantry-console&force=true';
const INSTEAD = 'sign in with a token on the page, such as that of: kubectl create token NAME -n NAMESPACE';

type Api = Pick<HttpClient, 'raw'>;

/**
 * The credential that the console gets from the holder of a kubeconfig: its token, or else one of twelve hours for the ServiceAccount
 * `console-administrator`, which the holder makes with the right to everything and asks the API server for. CommandError if that is refused.
 */
export async function tokenFor({ token }: Pick<HttpTarget, 'token'>, api: Api, signal: AbortSignal): Promise<string> {
  if (token !== undefined) return token;
  try {
    return await requestToken(api, signal);
  } catch (error) {
    if (!(error instanceof StatusError) || error.reason !== 'Forbidden') throw error;
    throw new CommandError(
      `the user of the kubeconfig may not make a token for the console: ${error.message}`,
      INSTEAD,
    );
  }
}

async function requestToken(api: Api, signal: AbortSignal): Promise<string> {
  const { namespace, name } = ACCOUNT;
  const account = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}`;
  const apply = (path: string, object: object) =>
    api.raw({ method: 'PATCH', path: `${path}?${MANAGER}`, contentType: APPLY, body: JSON.stringify(object) }, signal);
  await apply(account, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name, namespace },
    automountServiceAccountToken: false,
  });
  await apply(`/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/gantry:${name}`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: `gantry:${name}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ kind: 'ServiceAccount', namespace, name }],
  });
  const body = JSON.stringify({
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: LIFE_SECONDS },
  });
  const path = `${account}/token`;
  const text = await api.raw({ method: 'POST', path, contentType: 'application/json', body }, signal);
  return (JSON.parse(text) as { readonly status: { readonly token: string } }).status.token;
}

/**
 * Hands a token over to the console at `origin`, and returns the address that signs a browser in with it, once, within two minutes. The code is
 * behind `#`: browsers send that to no server, and no log has it. CommandError if the console does not answer or refuses.
 */
export async function oneTimeLink(origin: string, token: string, signal: AbortSignal): Promise<string> {
  const start = 'docker compose up -d --no-recreate console; docker compose logs console';
  let response: Response;
  try {
    response = await fetch(`${origin}/session/links`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
      redirect: 'error',
      signal,
    });
  } catch (error) {
    const { cause } = error as { readonly cause?: unknown };
    throw new CommandError(`the console at ${origin} does not answer: ${errorMessage(cause ?? error)}`, start);
  }
  const answer = (await response.json()) as { readonly code?: string; readonly message?: string };
  if (response.ok && answer.code !== undefined) return `${origin}/#code=${answer.code}`;
  throw new CommandError(`the console refused the token: ${answer.message ?? response.statusText}`, start);
}
