import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Deployment, DEPLOYMENTS, LAST_APPLIED_ANNOTATION, StatusError } from '@gantry/objects';
import type { HttpClient } from '@gantry/client';
import { parse } from 'yaml';
import type { CommandConfig } from '../config.ts';

const NAMESPACE = 'default';

/** Creates the sample Deployment as `kubectl apply` would. An existing one is not changed. */
export async function applySample(
  config: CommandConfig,
  api: HttpClient,
  signal: AbortSignal,
): Promise<{ readonly namespace: string; readonly name: string; readonly outcome: 'created' | 'unchanged' }> {
  const manifest = parse(readFileSync(join(config.root, 'deploy/samples/nginx-deployment.yaml'), 'utf8')) as Deployment;
  const name = manifest.metadata.name ?? '';
  try {
    await api.get(DEPLOYMENTS, { namespace: NAMESPACE, name }, signal);
    return { namespace: NAMESPACE, name, outcome: 'unchanged' };
  } catch (error) {
    if (!(error instanceof StatusError) || error.reason !== 'NotFound') throw error;
  }
  const metadata = { ...manifest.metadata, namespace: NAMESPACE };
  const applied = `${JSON.stringify({ ...manifest, metadata: { annotations: {}, ...metadata } })}\n`;
  const object = { ...manifest, metadata: { ...metadata, annotations: { [LAST_APPLIED_ANNOTATION]: applied } } };
  await api.create(DEPLOYMENTS, object, signal);
  return { namespace: NAMESPACE, name, outcome: 'created' };
}
