import { join } from 'node:path';

/** Paths in the folder of a running HAProxy. */
export interface RunFiles {
  readonly configuration: string;
  readonly exact: string;
  readonly prefix: string;
  readonly certificateList: string;
  /** For commands about what it serves. */
  readonly socket: string;
  /** For commands about its process. */
  readonly masterSocket: string;
  certificate(name: string): string;
}

/** The paths below a folder; creates nothing. */
export function runFilesIn(folder: string): RunFiles {
  return {
    configuration: join(folder, 'haproxy.cfg'),
    exact: join(folder, 'exact.map'),
    prefix: join(folder, 'prefix.map'),
    certificateList: join(folder, 'certificates.list'),
    socket: join(folder, 'haproxy.sock'),
    masterSocket: join(folder, 'master.sock'),
    certificate: (name) => join(folder, `${name}.pem`),
  };
}
