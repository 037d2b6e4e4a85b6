import { mkdir } from 'node:fs/promises';
import { AgentError } from '../runtime/agent-error.ts';
import { mountOf, mountTable } from './mount-table.ts';
import { tryProgram } from './run-program.ts';
import type { DiskMounts, DiskSource } from '../runtime/host-mounts.ts';

/** The path of the first extra descriptor in a child process. */
const DEVICE = '/proc/self/fd/3';
/** How long to wait for the device's lock, which others hold while they check or format the device. Then the mount fails. */
const LOCK_SECONDS = '60';
/** Allowed names of file systems: the name becomes part of a program's name, `mkfs.TYPE`. */
const FILE_SYSTEM = /^[a-z0-9][a-z0-9_-]*$/i;
/** The kubelet's options for mkfs: accept a device without partitions, and reserve no blocks for root. */
const FORMAT_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  ext3: ['-F', '-m0'],
  ext4: ['-F', '-m0'],
  xfs: ['-f'],
};

/**
 * The steps of the kubelet (mount-utils, FormatAndMount), under a lock of the device, since agents of several nodes may share a host.
 *
 * A device that is mounted already is not checked again. blkid(8) exits with 2 when it finds nothing, also when it cannot read, so the
 * script first reads the beginning of the device. fsck(8) exits with 4 when errors remain. SIGPIPE is ignored so that fsck(8) continues
 * its repair when the shell is killed and its output has no reader. The shell holds the lock and is replaced by mount(8), so nothing is
 * mounted after the shell was killed.
 */
const SCRIPT = `
trap '' PIPE
device=$1 number=$2 type=$3 options=$4 folder=$5 access=$6
shift 6
refuse() { echo "$1" >&2; exit 1; }
if ! grep -q "^[0-9]* [0-9]* $number " /proc/self/mountinfo; then
  head -c 1048576 "$device" >/dev/null || exit 1
  blkid -p -s TYPE -s PTTYPE "$device" >/dev/null
  case $? in
    0)
      if [ "$access" = read-write ]; then
        checked=$(fsck -a "$device" 2>&1)
        [ $? -ne 4 ] || refuse "'fsck' found errors on the device but could not correct them: $checked"
      fi ;;
    2)
      [ "$access" = read-write ] || refuse "cannot mount unformatted disk as we are manipulating it in read-only mode"
      "mkfs.$type" "$@" "$device" >/dev/null || refuse "format of disk failed: type:($type)" ;;
    *) refuse "failed to get disk format of disk" ;;
  esac
fi
exec mount --no-canonicalize -t "$type" -o "$options" "$device" "$folder"
`;

/**
 * Mounts disks with programs of util-linux and e2fsprogs in this process's mount namespace. Needs CAP_SYS_ADMIN, and in a container a
 * control group that allows block devices.
 */
export const linuxDisks: DiskMounts = {
  mountDisk: async (folder, open, source, signal) => {
    if (mountOf(await mountTable(), folder)?.path === folder) return 'kept';
    await using opened = await open();
    const { fileSystem, options, access } = source;
    if (!FILE_SYSTEM.test(fileSystem)) throw failed(source, 'it is no type of a file system');
    await mkdir(folder, { recursive: true });
    const number = deviceNumber((await opened.stat()).rdev);
    const mountOptions = ['defaults', ...options].join(',');
    const args = [DEVICE, number, fileSystem, mountOptions, folder, access, ...(FORMAT_OPTIONS[fileSystem] ?? [])];
    const locked = ['--exclusive', '--wait', LOCK_SECONDS, '--no-fork', DEVICE, 'sh', '-c', SCRIPT, 'sh', ...args];
    const failure = await tryProgram('flock', locked, { fds: [opened.fd], signal });
    if (failure === undefined) return 'made';
    const held = `the device has been locked by another process for ${LOCK_SECONDS} s`;
    throw failed(source, failure.output === '' ? held : failure.output);
  },
};

/** `MAJOR:MINOR` of a device, as in `/proc/self/mountinfo`. Decodes Linux's layout of device numbers. */
export function deviceNumber(rdev: number): string {
  const id = BigInt(rdev);
  const major = ((id >> 8n) & 0xfffn) | ((id >> 32n) & ~0xfffn);
  const minor = (id & 0xffn) | ((id >> 12n) & 0xffffff00n);
  return `${major}:${minor}`;
}

function failed({ path, fileSystem }: DiskSource, why: string): AgentError {
  return new AgentError('FailedMount', `local: failed to mount device ${path} (fstype: ${fileSystem}), error ${why}`);
}
