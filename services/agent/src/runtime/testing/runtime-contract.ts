import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isAgentError } from '../agent-error.ts';
import type { ContainerSpec } from '../containers.ts';
import type { Runtime } from '../runtime.ts';
import type { RuntimeEvent } from '../observer.ts';
import type { NameServer, SandboxSpec } from '../sandboxes.ts';
import { describeDevices } from './devices-contract.ts';
import { describeImageFiles } from './image-files-contract.ts';
import { describeImages } from './images-contract.ts';
import { describeImageVolumes } from './image-volumes-contract.ts';
import { type ContainerChange, plainContainer, plainSandbox } from './plain-specs.ts';
import { describeStreams } from './streams-contract.ts';

/** A runtime under test, with the names that the suite uses. */
export interface RuntimeUnderTest extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly cluster: string;
  readonly network: string;
  /** The name server of its sandboxes. */
  readonly nameServer: NameServer;
  /** Two free addresses on that network. */
  readonly addresses: readonly [string, string];
  readonly sandboxImage: string;
  /** An image with a shell. */
  readonly image: string;
  /** The path and the text of a file in the image. */
  readonly imageFile: readonly [string, string];
  /** Creates another image like it, with this name. It is removed after the test. */
  readonly makeImage: (name: string) => Promise<void>;
  /** Creates an empty folder where the runtime can mount, and returns its path. It is removed after the test. */
  readonly makeFolder: () => Promise<string>;
  /** Creates a block device that begins with `DEVICE_TEXT`, and returns its path on the host. It is removed after the test. */
  readonly makeDevice: () => Promise<string>;
  /** Ends a container's process from outside, like a crash. */
  readonly kill: (id: string) => Promise<void>;
  /** Freezes a container's processes from outside. */
  readonly pause: (id: string) => Promise<void>;
  /** Returns the processes in a container, as its process list shows them. */
  readonly processes: (id: string) => Promise<readonly string[]>;
  /** Polls `check`, and resolves when it holds. */
  readonly eventually: (check: () => Promise<boolean>) => Promise<void>;
}

const signal = new AbortController().signal;

/** The contract of a container runtime. The in-memory runtime and a real engine must both pass it. */
export function describeRuntime(name: string, make: () => Promise<RuntimeUnderTest>): void {
  describe(name, () => {
    let test: RuntimeUnderTest;
    beforeEach(async () => {
      test = await make();
    });
    afterEach(async () => {
      await test[Symbol.asyncDispose]();
    });

    const pod = (uid = 'pod-1') => ({ uid, namespace: 'default', name: `name-of-${uid}` });
    const owner = () => ({ cluster: test.cluster, node: 'node-a' });
    const sandbox = (change: Partial<SandboxSpec> = {}): SandboxSpec =>
      plainSandbox({
        owner: owner(),
        pod: pod(),
        image: test.sandboxImage,
        network: { kind: 'pod', name: test.network, address: test.addresses[0], nameServer: test.nameServer },
        graceSeconds: 7,
        ...change,
      });
    const container = (sandboxId: string, script: string, change: ContainerChange = {}): ContainerSpec =>
      plainContainer({
        owner: owner(),
        pod: pod(),
        sandboxId,
        image: test.image,
        command: ['sh', '-c', script],
        env: [{ name: 'GREETING', value: 'hello' }],
        resources: { cpuShares: 10, memoryBytes: 64 * 2 ** 20 },
        oomScoreAdj: 100,
        restartDelayMs: 10_000,
        graceSeconds: 7,
        ...change,
      });
    const list = async (podUid = 'pod-1') =>
      (await test.runtime.observer.listPods({ cluster: test.cluster, podUid }, signal))[0];
    const running = async (script: string, change: ContainerChange = {}) => {
      const sandboxId = await test.runtime.sandboxes.createSandbox(sandbox(), signal);
      const id = await test.runtime.containers.createContainer(container(sandboxId, script, change), signal);
      await test.runtime.containers.startContainer(id, signal);
      return { sandboxId, id };
    };
    /** Tries whether pod-2 can use the address. */
    const isFree = async (address: string) => {
      const network = { kind: 'pod', name: test.network, address, nameServer: test.nameServer } as const;
      try {
        await test.runtime.sandboxes.createSandbox(sandbox({ pod: pod('pod-2'), network }), signal);
        return true;
      } catch (error) {
        if (!isAgentError(error, 'AddressInUse')) throw error;
        return false;
      }
    };
    /** Waits until a container has written its greeting. By then its traps are set. */
    const greeted = (id: string) =>
      test.eventually(async () => {
        const parts: Uint8Array[] = [];
        for await (const part of test.runtime.logs.readLogs(id, { follow: false, timestamps: false }, signal))
          parts.push(part);
        return Buffer.concat(parts).includes('hello');
      });
    const FOREVER = 'trap "exit 0" TERM; echo $GREETING; while true; do sleep 0.1; done';

    it('shows a running pod with all that adoption needs', async () => {
      const { sandboxId, id } = await running(FOREVER);
      const state = await list();
      expect(state).toMatchObject({
        owner: { cluster: test.cluster, node: 'node-a' },
        identity: pod(),
        graceSeconds: 7,
        sandboxes: [{ id: sandboxId, attempt: 0, state: 'running', address: test.addresses[0] }],
        containers: [
          { id, name: 'main', attempt: 0, sandboxId, hash: 'hash', state: 'running', restartDelayMs: 10_000 },
        ],
      });
      expect(state?.containers[0]?.startedAt).toBeGreaterThan(0);
    });

    it('lists pods by node and by uid only', async () => {
      await running(FOREVER);
      expect(await test.runtime.observer.listPods({ cluster: test.cluster, node: 'node-b' }, signal)).toEqual([]);
      expect(await test.runtime.observer.listPods({ cluster: 'another' }, signal)).toEqual([]);
      expect(await list('pod-2')).toBeUndefined();
    });

    it('refuses an address that is in use, and leaves no sandbox behind', async () => {
      await test.runtime.sandboxes.createSandbox(sandbox(), signal);
      const second = test.runtime.sandboxes.createSandbox(sandbox({ pod: pod('pod-2') }), signal);
      await expect(second).rejects.toSatisfy((error) => isAgentError(error, 'AddressInUse'));
      expect(await list('pod-2')).toBeUndefined();
    });

    it('frees the address of a stopped sandbox', async () => {
      const id = await test.runtime.sandboxes.createSandbox(sandbox(), signal);
      await test.runtime.sandboxes.stopSandbox(id, signal);
      await test.runtime.sandboxes.stopSandbox(id, signal);
      expect((await list())?.sandboxes).toMatchObject([{ id, state: 'exited', address: '' }]);
      expect((await list())?.sandboxes[0]?.finishedAt).toBeGreaterThan(0);
      await test.eventually(() => isFree(test.addresses[0]));
      expect((await list('pod-2'))?.sandboxes).toMatchObject([{ state: 'running', address: test.addresses[0] }]);
    });

    it('refuses to create the same attempt twice', async () => {
      const sandboxId = await test.runtime.sandboxes.createSandbox(sandbox(), signal);
      const network = {
        kind: 'pod' as const,
        name: test.network,
        address: test.addresses[1],
        nameServer: test.nameServer,
      };
      const again = test.runtime.sandboxes.createSandbox(sandbox({ network }), signal);
      await expect(again).rejects.toSatisfy((error) => isAgentError(error, 'Conflict'));
      await test.runtime.containers.createContainer(container(sandboxId, FOREVER), signal);
      const twice = test.runtime.containers.createContainer(container(sandboxId, FOREVER), signal);
      await expect(twice).rejects.toSatisfy((error) => isAgentError(error, 'Conflict'));
    });

    it('says what containers have written, running or not, and leaves out what does not exist', async () => {
      const sandboxId = await test.runtime.sandboxes.createSandbox(sandbox(), signal);
      const id = await test.runtime.containers.createContainer(container(sandboxId, FOREVER), signal);
      const found = await test.runtime.stats.readStorage([id, 'f'.repeat(64)], signal);
      expect([...found.keys()]).toEqual([id]);
      expect(found.get(id)?.writableBytes).toBeGreaterThanOrEqual(0);
      const folders = await test.runtime.stats.findFolders([id, 'f'.repeat(64)], signal);
      expect([...folders.keys()]).toEqual([id]);
      expect(folders.get(id)?.layerFolder).toEqual(found.get(id)?.layerFolder);
      expect(folders.get(id)?.logFolder).toEqual(found.get(id)?.logFolder);
    });

    it('measures what runs, and leaves out what does not', async () => {
      const { id } = await running('while :; do :; done');
      const read = async () => (await test.runtime.stats.readStats([id, 'f'.repeat(64)], signal)).get(id);
      await test.eventually(async () => ((await read())?.cpuNanos ?? 0) > 50_000_000);
      const stats = await read();
      expect(stats?.memoryBytes).toBeGreaterThan(0);
      expect(stats?.memoryBytes).toBeLessThan(64 * 2 ** 20);
      expect(stats?.memoryUsageBytes).toBeGreaterThanOrEqual(stats?.memoryBytes ?? Number.POSITIVE_INFINITY);
      expect(stats?.processes).toBeGreaterThan(0);
      await test.kill(id);
      await test.eventually(async () => (await list())?.containers[0]?.state === 'exited');
      expect(await read()).toBeUndefined();
    });

    it('stops a container by its signal and keeps its exit code', async () => {
      const { id } = await running(FOREVER);
      await greeted(id);
      await test.runtime.containers.stopContainer(id, 60, signal);
      await test.runtime.containers.stopContainer(id, 60, signal);
      const ended = (await list())?.containers[0];
      expect(ended).toMatchObject({ id, state: 'exited', exitCode: 0 });
      expect(ended?.finishedAt).toBeGreaterThanOrEqual(ended?.startedAt ?? Number.POSITIVE_INFINITY);
    });

    it('stops a container by the signal of its own', async () => {
      const script = 'trap "exit 0" USR1; trap "exit 5" TERM; echo $GREETING; while true; do sleep 0.1; done';
      const { id } = await running(script, { stopSignal: 'SIGUSR1' });
      await greeted(id);
      await test.runtime.containers.stopContainer(id, 60, signal);
      expect((await list())?.containers[0]).toMatchObject({ id, state: 'exited', exitCode: 0 });
    });

    it('emits starts, changes, ends and removals', async () => {
      const stop = new AbortController();
      const connected = Promise.withResolvers<void>();
      const seen: RuntimeEvent['what'][] = [];
      const watching = (async () => {
        for await (const event of test.runtime.observer.watch(test.cluster, stop.signal)) {
          if (event === 'connected') connected.resolve();
          else if (event.podUid === 'pod-1' && event.node === 'node-a') seen.push(event.what);
        }
      })();
      await connected.promise;
      const { id } = await running(FOREVER);
      await test.runtime.containers.updateContainer(id, { cpuShares: 20, memoryBytes: 64 * 2 ** 20 }, signal);
      await test.eventually(async () => seen.includes('updated'));
      await test.kill(id);
      await test.eventually(async () => seen.includes('ended'));
      expect((await list())?.containers).toMatchObject([{ state: 'exited', exitCode: 137 }]);
      await test.runtime.containers.removeContainer(id, signal);
      await test.eventually(async () => seen.includes('removed'));
      stop.abort();
      await expect(watching).rejects.toBeDefined();
      expect(seen).toEqual(['started', 'started', 'updated', 'ended', 'removed']);
    });

    it('shows what a caller has changed at once, before it reads the events of that', async () => {
      const stop = new AbortController();
      const events = test.runtime.observer.watch(test.cluster, stop.signal)[Symbol.asyncIterator]();
      expect((await events.next()).value).toBe('connected');
      expect(await test.runtime.observer.listPods(owner(), signal)).toEqual([]);
      const mine = async () =>
        (await test.runtime.observer.listPods({ ...owner(), podUid: 'pod-1' }, signal)).flatMap((state) =>
          [...state.sandboxes, ...state.containers].map((one) => [one.id, one.state]),
        );
      const { containers, sandboxes } = test.runtime;
      const sandboxId = await sandboxes.createSandbox(sandbox(), signal);
      expect(await mine()).toEqual([[sandboxId, 'running']]);
      const id = await containers.createContainer(container(sandboxId, FOREVER), signal);
      expect((await mine())[1]).toEqual([id, 'created']);
      await containers.startContainer(id, signal);
      expect((await mine())[1]).toEqual([id, 'running']);
      await containers.stopContainer(id, 0, signal);
      expect((await mine())[1]).toEqual([id, 'exited']);
      await containers.removeContainer(id, signal);
      expect(await mine()).toEqual([[sandboxId, 'running']]);
      await sandboxes.stopSandbox(sandboxId, signal);
      await sandboxes.removeSandbox(sandboxId, signal);
      expect(await mine()).toEqual([]);
      stop.abort();
      await expect(events.next()).rejects.toBe(stop.signal.reason);
    });

    it('emits that a container or a sandbox was paused, shows it, and lets it go on', async () => {
      const stop = new AbortController();
      const connected = Promise.withResolvers<void>();
      let pauses = 0;
      const watching = (async () => {
        for await (const event of test.runtime.observer.watch(test.cluster, stop.signal)) {
          if (event === 'connected') connected.resolve();
          else if (event.podUid === 'pod-1' && event.what === 'paused') pauses += 1;
        }
      })();
      await connected.promise;
      const { id, sandboxId } = await running(FOREVER);
      const seen = async () => {
        const { containers = [], sandboxes = [] } = (await list()) ?? {};
        return [...containers, ...sandboxes].map(({ state, activity }) => [state, activity]);
      };
      await test.pause(id);
      await test.pause(sandboxId);
      await test.eventually(async () => pauses === 2);
      expect(await seen()).toEqual(Array(2).fill(['running', 'paused']));
      for (const one of [id, id, sandboxId, 'f'.repeat(64)]) await test.runtime.pauses.unpause(one, signal);
      expect(await seen()).toEqual(Array(2).fill(['running', undefined]));
      stop.abort();
      await expect(watching).rejects.toBeDefined();
    });

    it('removes running containers, and ignores missing ones', async () => {
      const { id, sandboxId } = await running(FOREVER);
      await test.runtime.containers.removeContainer(id, signal);
      await test.runtime.containers.removeContainer(id, signal);
      await test.runtime.containers.stopContainer(id, 1, signal);
      await test.runtime.sandboxes.removeSandbox(sandboxId, signal);
      await test.runtime.sandboxes.removeSandbox(sandboxId, signal);
      expect(await list()).toBeUndefined();
    });

    it('lists the newest attempts first', async () => {
      const { id, sandboxId } = await running(FOREVER);
      await test.runtime.containers.stopContainer(id, 60, signal);
      const next = await test.runtime.containers.createContainer(container(sandboxId, FOREVER, { attempt: 1 }), signal);
      expect((await list())?.containers.map((one) => [one.id, one.state])).toEqual([
        [next, 'created'],
        [id, 'exited'],
      ]);
    });

    it('does not start a container whose sandbox has ended', async () => {
      const sandboxId = await test.runtime.sandboxes.createSandbox(sandbox(), signal);
      const id = await test.runtime.containers.createContainer(container(sandboxId, FOREVER), signal);
      await test.runtime.sandboxes.stopSandbox(sandboxId, signal);
      const start = test.runtime.containers.startContainer(id, signal);
      await expect(start).rejects.toSatisfy((error) => isAgentError(error, 'RunContainerError'));
      expect((await list())?.containers).toMatchObject([{ id, state: 'exited', exitCode: 128 }]);
      expect((await list())?.containers[0]?.error).toBeTruthy();
    });

    it('starts a container among the processes of another one, while that runs', async () => {
      const { sandboxId, id } = await running(FOREVER);
      const join = (name: string) =>
        test.runtime.containers.createContainer(
          container(sandboxId, FOREVER, { name, processes: { containerId: id } }),
          signal,
        );
      const [early, late] = [await join('early'), await join('late')];
      await test.runtime.containers.startContainer(early, signal);
      await test.kill(id);
      await test.eventually(
        async () => (await list())?.containers.some((one) => one.id === id && one.state === 'exited') === true,
      );
      const start = test.runtime.containers.startContainer(late, signal);
      await expect(start).rejects.toSatisfy((error) => isAgentError(error, 'RunContainerError'));
    });

    it('changes the limits of a running container', async () => {
      const { id } = await running(FOREVER);
      const grown = { cpuShares: 512, cpuQuotaMicros: 50_000, memoryBytes: 128 * 2 ** 20 };
      await test.runtime.containers.updateContainer(id, grown, signal);
      await test.eventually(async () => (await list())?.containers[0]?.resources.memoryBytes === 128 * 2 ** 20);
      expect((await list())?.containers[0]).toMatchObject({ id, state: 'running', resources: grown });
      const shrunk = { cpuShares: 20, memoryBytes: 96 * 2 ** 20 };
      await test.runtime.containers.updateContainer(id, shrunk, signal);
      await test.eventually(async () => (await list())?.containers[0]?.resources.cpuShares === 20);
      expect((await list())?.containers[0]?.resources).toEqual(shrunk);
      const missing = test.runtime.containers.updateContainer('f'.repeat(64), grown, signal);
      await expect(missing).rejects.toSatisfy((error) => isAgentError(error, 'NotFound'));
    });

    it('holds a pod to pod-level limits in a control group of its own, which lasts until it is removed', async () => {
      const { podGroups, sandboxes, observer, stats, engine } = test.runtime;
      const grouped = { owner: owner(), uid: 'pod-1' };
      expect(await podGroups.listPodGroups(owner())).toEqual([]);
      // The smallest share and the largest share are the same in both versions of control groups.
      const limits = { cpuShares: 2, cpuQuotaMicros: 50_000, memoryBytes: 128 * 2 ** 20 };
      if ((await engine.info(signal)).podGroups !== 'supported') {
        await expect(sandboxes.createSandbox(sandbox({ resources: limits }), signal)).rejects.toBeDefined();
        expect(await list()).toBeUndefined();
        return;
      }
      const sandboxId = await sandboxes.createSandbox(sandbox({ resources: limits }), signal);
      const resources = { cpuShares: 10, cpuQuotaMicros: 50_000, memoryBytes: 64 * 2 ** 20 };
      const spec = container(sandboxId, FOREVER, { group: 'pod', resources });
      const id = await test.runtime.containers.createContainer(spec, signal);
      await test.runtime.containers.startContainer(id, signal);
      const held = async () => (await list())?.group?.limits;
      expect(await held()).toEqual(limits);
      expect((await stats.readStats([id], signal)).get(id)?.processes).toBeGreaterThan(0);
      expect(await podGroups.readPodMemory(grouped)).toBeGreaterThanOrEqual(0);
      const more = { cpuShares: 262_144, cpuQuotaMicros: 100_000, memoryBytes: 192 * 2 ** 20 };
      await podGroups.updatePodGroup(grouped, more);
      expect(await held()).toEqual(more);
      // A container of another pod is in no group.
      const network = { kind: 'host' } as const;
      await sandboxes.createSandbox(sandbox({ pod: pod('pod-2'), network }), signal);
      expect((await observer.listPods({ cluster: test.cluster, podUid: 'pod-2' }, signal))[0]?.group).toBeUndefined();

      expect(await podGroups.listPodGroups(owner())).toEqual(['pod-1']);
      expect(await podGroups.listPodGroups({ ...owner(), node: 'node-b' })).toEqual([]);
      expect(await podGroups.removePodGroup(grouped)).toBe(false);
      await test.runtime.containers.removeContainer(id, signal);
      await sandboxes.removeSandbox(sandboxId, signal);
      expect(await podGroups.listPodGroups(owner())).toEqual(['pod-1']);
      await test.eventually(() => podGroups.removePodGroup(grouped));
      expect(await podGroups.removePodGroup(grouped)).toBe(true);
      expect(await podGroups.listPodGroups(owner())).toEqual([]);
      expect(await podGroups.readPodMemory(grouped)).toBeUndefined();
    });

    it('reads logs whole and by their tail', async () => {
      const { id } = await running(
        'echo one; echo two; echo three; trap "exit 0" TERM; while true; do sleep 0.1; done',
      );
      const read = async (tailLines?: number) => {
        const parts: Uint8Array[] = [];
        const options = { follow: false, timestamps: false, ...(tailLines === undefined ? {} : { tailLines }) };
        for await (const part of test.runtime.logs.readLogs(id, options, signal)) parts.push(part);
        return Buffer.concat(parts).toString();
      };
      await test.eventually(async () => (await read()).includes('three'));
      expect(await read()).toBe('one\ntwo\nthree\n');
      expect(await read(1)).toBe('three\n');
    });

    describeImages({
      runtime: () => test.runtime,
      image: () => test.image,
      makeImage: (reference) => test.makeImage(reference),
      run: running,
    });

    describeImageVolumes({
      runtime: () => test.runtime,
      cluster: () => test.cluster,
      images: () => [test.image, test.sandboxImage],
      makeFolder: () => test.makeFolder(),
    });

    describeImageFiles({
      runtime: () => test.runtime,
      cluster: () => test.cluster,
      image: () => test.image,
      file: () => test.imageFile,
    });

    describeDevices({
      runtime: () => test.runtime,
      eventually: (check) => test.eventually(check),
      makeDevice: () => test.makeDevice(),
      run: running,
    });

    describeStreams({
      runtime: () => test.runtime,
      processes: (id) => test.processes(id),
      eventually: (check) => test.eventually(check),
      kill: (id) => test.kill(id),
      run: running,
    });

    it('executes a command in a running container', async () => {
      const { id } = await running(FOREVER);
      const result = await test.runtime.containers.exec(id, ['sh', '-c', 'echo out; exit 3'], signal);
      expect(result).toEqual({ exitCode: 3, output: 'out\n' });
    });
  });
}
