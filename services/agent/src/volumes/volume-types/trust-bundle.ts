import { type ClusterTrustBundle, type ClusterTrustBundleProjection, labelSelectorFrom } from '@gantry/objects';
import { AgentError } from '../../runtime/agent-error.ts';
import { fileOwnersOf } from '../../spec/file-owners.ts';
import type { VolumeFile } from './atomic-folder.ts';
import { counted } from './volume-file.ts';
import type { VolumeContext } from './volume-type.ts';

const CERTIFICATE = /-----BEGIN CERTIFICATE-----([A-Za-z0-9+/=\s]*)-----END CERTIFICATE-----/g;
const OWN_MODE = 0o600;
const LINE = /.{1,64}/g;

/**
 * The trust anchors of one bundle, or of the signer's bundles that the labels select, in one file. Each certificate appears once,
 * without text in between. AgentError 'FailedMount' with the kubelet's message when there is no bundle and the projection is not
 * optional.
 */
export async function trustBundleFiles(
  projection: ClusterTrustBundleProjection,
  mode: number,
  context: VolumeContext,
  signal: AbortSignal,
): Promise<readonly VolumeFile[]> {
  const content = await contentOf(projection, context, signal);
  const { group, user } = fileOwnersOf(context.pod);
  const file = {
    path: projection.path,
    content,
    // Like a token: accessible to the pod's user or group only, if the pod names one.
    mode: group === undefined && user === undefined ? mode : OWN_MODE,
    user,
  };
  return [counted(file, context.budget)];
}

/**
 * Contents by the bundles that were read and the labels that select some of them. Sources of a pod that name the same bundles share one:
 * hundreds of them would read and sort all certificates each.
 */
const contents = new WeakMap<readonly ClusterTrustBundle[], Map<string, Buffer>>();

async function contentOf(
  { name, signerName = '', labelSelector, optional }: ClusterTrustBundleProjection,
  { source }: VolumeContext,
  signal: AbortSignal,
): Promise<Buffer> {
  if ((name === undefined) === (signerName === '')) {
    throw new AgentError('FailedMount', 'exactly one of name and signerName of a clusterTrustBundle must be given');
  }
  const found = await source.trustBundles(name === undefined ? { signerName } : { name }, signal);
  const made = contents.get(found) ?? new Map<string, Buffer>();
  contents.set(found, made);
  const key = JSON.stringify([name === undefined, labelSelector]);
  const known = made.get(key);
  if (known !== undefined) return known;
  // Without a selector, no bundle of the signer is selected.
  const selects = labelSelector === undefined ? () => false : selectorOf(labelSelector);
  const selected = name === undefined ? found.filter(({ metadata }) => selects(metadata.labels ?? {})) : found;
  if (selected.length > 0) {
    const content = Buffer.from(uniqueCertificates(selected.map(({ spec }) => spec.trustBundle)));
    made.set(key, content);
    return content;
  }
  if (optional === true) return Buffer.alloc(0);
  const why =
    name === undefined
      ? 'combination of signerName and labelSelector matched zero ClusterTrustBundles'
      : `clustertrustbundle.certificates.k8s.io ${JSON.stringify(name)} not found`;
  throw new AgentError('FailedMount', why);
}

function selectorOf(labelSelector: NonNullable<ClusterTrustBundleProjection['labelSelector']>) {
  const selector = labelSelectorFrom(labelSelector);
  return (labels: Readonly<Record<string, string>>) => selector.matches(labels);
}

function uniqueCertificates(texts: readonly string[]): string {
  const bodies = texts.flatMap((text) =>
    [...text.matchAll(CERTIFICATE)].map(([, body = '']) => body.replaceAll(/\s/g, '')),
  );
  return [...new Set(bodies)]
    .sort()
    .map((body) => `-----BEGIN CERTIFICATE-----\n${(body.match(LINE) ?? []).join('\n')}\n-----END CERTIFICATE-----\n`)
    .join('');
}
