import type { Pod, ServiceAccountTokenProjection, Volume } from '@gantry/objects';
import type { Clock } from '@gantry/base';
import type { ConfigSource } from '../../spec/config-source.ts';
import type { HostFiles } from '../../runtime/host-files.ts';
import { fileOwnersOf } from '../../spec/file-owners.ts';
import type { NodeFacts } from '../../spec/field-values.ts';
import { makeMountPoints } from './mount-points.ts';
import { type VolumeFile, writeAtomically } from './atomic-folder.ts';
import type { NfsSource } from '../../runtime/host-mounts.ts';

/** The sources of a volume's content. */
export interface VolumeContext {
  readonly pod: Pod;
  readonly podAddress: string;
  readonly facts: NodeFacts;
  readonly source: ConfigSource;
  readonly token: (projection: ServiceAccountTokenProjection, signal: AbortSignal) => Promise<string>;
}

/** The fields of a volume that select its type. */
export type VolumeField = Exclude<keyof Volume, 'name'>;

/** The folder of a volume. The clock names versions of its content. */
export interface VolumeTarget {
  readonly folder: string;
  readonly clock: Clock;
  readonly hostFiles: HostFiles;
  /** Makes the folder a file system in memory of at most this size, unless it is one. AgentError 'FailedMount'. */
  readonly mountMemory: (sizeBytes: number) => Promise<'made' | 'kept'>;
  /** Makes the folder that of a server, unless it is. AgentError 'FailedMount'. */
  readonly mountNfs: (source: NfsSource, signal: AbortSignal) => Promise<void>;
}

/**
 * Where the files of a volume lie: on the engine's disk, or in the memory that a node has for Secrets, as in kubelet, as long as the
 * pod lives; or in the folder of a persistent volume, which `PersistentFolders` makes; or where they are on the engine's host; or in an
 * image, which `ImageVolumes` mounts.
 */
export type VolumeStorage = 'disk' | 'memory' | 'persistent' | 'host' | 'image';

/** One type of volume. */
export interface VolumeType {
  readonly field: VolumeField;
  /** Whether containers may write to it. A mount may restrict that further. */
  readonly access: 'read-write' | 'read-only';
  readonly storage: VolumeStorage;
  /** Makes the volume in its folder and brings its content up to date. Idempotent. */
  readonly sync: (volume: Volume, target: VolumeTarget, context: VolumeContext, signal: AbortSignal) => Promise<void>;
}

/** A volume type whose `sync` is given its own field of the volume. */
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

/** A volume type whose files come from the API: read-only, and replaced all at one moment. */
export interface FileVolumeType extends VolumeType {
  readonly files: (volume: Volume, context: VolumeContext, signal: AbortSignal) => Promise<readonly VolumeFile[]>;
}

/** A volume type whose files are computed from its own field of the volume. */
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
