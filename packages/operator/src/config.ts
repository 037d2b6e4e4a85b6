import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { type KubeContext, KubeconfigError, podAccount, readContext } from '@gantry/client';

/**
 * The context of a file; without a file, that of the files of `KUBECONFIG`, then of `~/.kube/config`, then the account of the pod. Throws
 * KubeconfigError.
 */
export function chooseContext(file: string | undefined, context: string | undefined): KubeContext {
  if (file !== undefined) return readContext([file], context);
  const files = (process.env['KUBECONFIG'] ?? '').split(delimiter).filter((one) => one !== '');
  if (files.length > 0) return readContext(files, context);
  const own = join(process.env['HOME'] ?? homedir(), '.kube', 'config');
  if (existsSync(own)) return readContext([own], context);
  const account = podAccount(process.env);
  if (account === undefined) {
    throw new KubeconfigError('kubeconfig: there is no KUBECONFIG, no ~/.kube/config and no account of a pod');
  }
  if (context !== undefined)
    throw new KubeconfigError(`kubeconfig: no context named "${context}": there is no kubeconfig`);
  return account;
}
