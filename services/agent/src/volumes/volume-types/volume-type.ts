import type { Pod, ServiceAccountTokenProjection, Volume } from '@gantry/objects';
import type { Clock } from '@gantry/base';
import type { ConfigSource } from '../../spec/config-source.ts';
import type { HostFiles } from '../../runtime/host-files.ts';
import { fileOwnersOf } from '../../spec/file-owners.ts';
import type { NodeFacts } from '../../spec/field-values.ts';
import { makeMountPoints } from './mount-points.ts';
import { type VolumeFile, writeAtomically } from './atomic-folder.ts';
import type { ContentBudget } from '../content-budget.ts';
import type { NfsSource } from '../../runtime/host-mounts.ts';

/** The data from which a volume's content is made. */
export interface VolumeContext {
  readonly pod: Pod;
  readonly podAddress: string;
  readonly facts: NodeFacts;
  readonly source: ConfigSource;
  readonly token: (projection: ServiceAccountTokenProjection, signal: AbortSignal) => Promise<string>;
  /** Counts the files that are made. */
  readonly budget: ContentBudget;
}

/** The fields of a volume that select its type. */
export type VolumeField = Exclude<keyof Volume, 'name'>;

/** The folder of a volume. The clock's time names the versions of its content. */
export interface VolumeTarget {
  readonly folder: string;
  readonly clock: Clock;
  readonly hostFiles: HostFiles;
  /** Mounts a tmpfs of at most this size at the folder, unless one is mounted already. AgentError 'FailedMount'. */
  readonly mountMemory: (sizeBytes: number) => Promise<'made' | 'kept'>;
  /** Mounts the server's folder at the folder, unless it is mounted already. AgentError 'FailedMount'. */
  readonly mountNfs: (source: NfsSource, signal: AbortSignal) => Promise<void>;
}

/**
 * Where the files of a volume lie. `disk`: on the engine's disk, as long as the pod exists. `memory`: in the node's tmpfs for Secrets,
 * as long as the pod exists, like in the kubelet. `persistent`: a persistent volume, see `PersistentFolders`. `host`: at a path of the
 * engine's host. `image`: in an image, which `ImageVolumes` mounts.
 */
export type VolumeStorage = 'disk' | 'memory' | 'persistent' | 'host' | 'image';

/** One type of volume. */
export interface VolumeType {
  readonly field: VolumeField;
  /** Whether containers may write to it. A mount may be more restrictive. */
  readonly access: 'read-write' | 'read-only';
  readonly storage: VolumeStorage;
  /** Creates the volume in its folder and updates its content. Idempotent. */
  readonly sync: (volume: Volume, target: VolumeTarget, context: VolumeContext, signal: AbortSignal) => Promise<void>;
}

/**
 * Defines a volume type whose `sync` receives its own field of the volume.
 *
 * @example
 * // A folder with one file that contains the name of the pod.
 * const noteVolume = defineVolumeType(
 *   'emptyDir',
 *   { access: 'read-only', storage: 'disk' },
 *   async (source, { folder }, { pod }, signal) => {
 *     await mkdir(folder, { recursive: true });
 *     await writeFile(join(folder, 'pod'), pod.metadata.name ?? '', { signal });
 *   },
 * );
 */
export function defineVolumeType<Field extends VolumeField>(
  field: Field,
  { access, storage }: Pick<VolumeType, 'access' | 'storage'>,
  sync: (
    source: NonNullable<Volume[Field]>,
    target: VolumeTarget,
    context: VolumeContext,
    signal: AbortSignal,
  ) => Promise<void>,
): VolumeType {
  return {
    field,
    access,
    storage,
    sync: async (volume, target, context, signal) => {
      const source = volume[field];
      if (source !== undefined) await sync(source, target, context, signal);
    },
  };
}

/** A volume type whose files come from the API. They are read-only and are replaced atomically. */
export interface FileVolumeType extends VolumeType {
  readonly files: (volume: Volume, context: VolumeContext, signal: AbortSignal) => Promise<readonly VolumeFile[]>;
}

/** Defines a volume type whose files are computed from its own field of the volume. */
export function defineFileVolumeType<Field extends VolumeField>(
  field: Field,
  storage: VolumeStorage,
  files: (
    source: NonNullable<Volume[Field]>,
    context: VolumeContext,
    signal: AbortSignal,
  ) => Promise<readonly VolumeFile[]>,
): FileVolumeType {
  const kind = { access: 'read-only', storage } as const;
  const type = defineVolumeType(field, kind, async (source, { folder, clock }, context, signal) => {
    const version = new Date(clock.now()).toISOString().replaceAll(/[-:.TZ]/g, '_');
    const { group } = fileOwnersOf(context.pod);
    await writeAtomically(folder, await files(source, context, signal), version, group, signal);
  });
  return {
    ...type,
    sync: async (volume, target, context, signal) => {
      await makeMountPoints(target.folder, volume.name, context.pod);
      await type.sync(volume, target, context, signal);
    },
    files: async (volume, context, signal) => {
      const source = volume[field];
      return source === undefined ? [] : files(source, context, signal);
    },
  };
}
