/**
 * The system calls that Docker's own profile keeps from a container without capabilities, and that change or look at more than the
 * process itself. Names that a kernel does not have are left out by the engine.
 */
const DENIED = [
  ...['acct', 'add_key', 'bpf', 'clock_adjtime', 'clock_settime', 'create_module', 'delete_module', 'fanotify_init'],
  ...['finit_module', 'fsconfig', 'fsmount', 'fsopen', 'fspick', 'get_mempolicy', 'init_module', 'io_uring_setup'],
  ...['ioperm', 'iopl', 'kcmp', 'kexec_file_load', 'kexec_load', 'keyctl', 'lookup_dcookie', 'mbind', 'migrate_pages'],
  ...['mount', 'mount_setattr', 'move_mount', 'move_pages', 'name_to_handle_at', 'nfsservctl', 'open_by_handle_at'],
  ...['open_tree', 'perf_event_open', 'personality', 'pivot_root', 'process_vm_readv', 'process_vm_writev', 'ptrace'],
  ...['quotactl', 'quotactl_fd', 'reboot', 'request_key', 'set_mempolicy', 'setns', 'settimeofday', 'stime', 'swapoff'],
  ...['swapon', 'syslog', 'umount', 'umount2', 'unshare', 'uselib', 'userfaultfd', 'vhangup', 'vm86', 'vm86old'],
];

/** Flags of clone(2) for new namespaces: mounts, control groups, host name, IPC, users, processes, network. */
const NEW_NAMESPACES = [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000];
/** "There is no such call", whereupon programs use clone(2). */
const ENOSYS = 38;

/**
 * The seccomp profile of sandboxes. A sandbox waits and does nothing else, so that a short list of what is denied keeps it as well as
 * Docker's own profile of some 350 calls for three architectures, which takes the engine 17 ms to compile for each sandbox. Calls of other
 * architectures than the machine's end the process.
 *
 * A container that shares the sandbox's processes and is of its user may trace it, and do by it what its own profile denies. So the list is
 * not shorter for what a sandbox does by itself: it has no new namespaces either. The flags of clone3(2) are in memory, out of sight.
 */
export const SANDBOX_SECCOMP = JSON.stringify({
  defaultAction: 'SCMP_ACT_ALLOW',
  syscalls: [
    { names: DENIED, action: 'SCMP_ACT_ERRNO' },
    ...NEW_NAMESPACES.map((flag) => ({
      names: ['clone'],
      action: 'SCMP_ACT_ERRNO',
      args: [{ index: 0, value: flag, valueTwo: flag, op: 'SCMP_CMP_MASKED_EQ' }],
    })),
    { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
  ],
});
