// @vitest-environment happy-dom
import { StatusError } from '@gantry/objects';
import { fireEvent, screen, waitFor } from '@testing-library/react';
import type { ComponentType } from 'react';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { ResourceRule } from '../api/access.ts';
import type { Kind } from '../api/kinds.ts';
import type { AnyObject, TabProps } from '../object/use-object.ts';
import { CopyDialog } from '../terminal/copy-dialog.tsx';
import { DebugDialog } from '../terminal/debug-dialog.tsx';
import { expectAccessible } from '../testing/axe.ts';
import { CONFIG_MAPS, DEPLOYMENTS, kindOf, NODES, PODS } from '../testing/kinds.ts';
import { renderInConsole, type Sent } from '../testing/render.tsx';
import { CordonDialog, UncordonDialog } from './cordon-dialog.tsx';
import { DeleteDialog } from './delete-dialog.tsx';
import { DrainDialog } from './drain-dialog.tsx';
import { RestartDialog } from './restart-dialog.tsx';
import { RollBackDialog } from './roll-back-dialog.tsx';
import { ScaleDialog } from './scale-dialog.tsx';

// CodeMirror measures what it shows.
vi.mock('../editor/diff-view.tsx', () => ({
  DiffView: ({ before, after }: Record<string, string>) => <pre>{`${before}→${after}`}</pre>,
}));

type View = ComponentType<TabProps & { readonly onClose: () => void }>;

interface Given {
  readonly kind?: Kind;
  readonly object?: Partial<AnyObject>;
  readonly server?: (sent: Sent) => unknown;
  readonly rules?: readonly ResourceRule[] | Promise<readonly ResourceRule[]>;
}

async function open(Dialog: View, options: Given) {
  const { kind = DEPLOYMENTS, object = {}, server = () => ({}), rules } = options;
  const written: Sent[] = [];
  const closed: string[] = [];
  const namespace = kind.isNamespaced ? 'shop' : '';
  const of = (given: Partial<AnyObject>) => {
    const whole = { metadata: { name: 'web', uid: 'u' }, ...given } as AnyObject;
    return <Dialog kind={kind} namespace={namespace} name="web" object={whole} onClose={() => closed.push('closed')} />;
  };
  const page = await renderInConsole(of(object), {
    kinds: [CONFIG_MAPS, DEPLOYMENTS, NODES, PODS],
    path: `/objects/${kind.id}/${namespace || '-'}/web`,
    server: (sent) => {
      if (sent.method !== 'GET') written.push(sent);
      return server(sent);
    },
    ...(rules === undefined ? {} : { rules }),
  });
  return { ...page, written, closed, change: (given: Partial<AnyObject>) => page.show(of(given)) };
}

const button = (name: string | RegExp) => screen.getByRole<HTMLButtonElement>('button', { name });
const command = () => document.querySelector('.kubectl code')?.textContent;
const closes = ({ closed }: { readonly closed: readonly string[] }) =>
  waitFor(() => expect(closed).toEqual(['closed']));

it.each<[string, View, Kind]>([
  ['Restart web', RestartDialog, DEPLOYMENTS],
  ['Scale web', ScaleDialog, DEPLOYMENTS],
  ['Roll back web', RollBackDialog, DEPLOYMENTS],
  ['Delete Deployment web?', DeleteDialog, DEPLOYMENTS],
  ['Cordon web', CordonDialog, NODES],
  ['Uncordon web', UncordonDialog, NODES],
  ['Drain web', DrainDialog, NODES],
  ['Add a debug container', DebugDialog, PODS],
  ['Copy files', CopyDialog, PODS],
])('%s: a screen reader finds a name for each field', async (name, Dialog, kind) => {
  await open(Dialog, { kind, server: () => ({ items: [] }) });
  await screen.findByRole('dialog', { name });
  await expectAccessible();
});

describe('scale', () => {
  it('sets what was typed, once', async () => {
    const page = await open(ScaleDialog, { object: { spec: { replicas: 2 } } });
    fireEvent.change(screen.getByLabelText(/Replicas/), { target: { value: '5' } });
    expect(command()).toBe('kubectl scale deployments.apps web -n shop --replicas=5');
    fireEvent.click(button('Scale'));
    await closes(page);
    expect(page.written).toMatchObject([{ method: 'PATCH', body: { spec: { replicas: 5 } } }]);
  });

  it('takes a cleared field for no number, not for 0', async () => {
    const page = await open(ScaleDialog, { object: { spec: { replicas: 2 } } });
    const field = screen.getByLabelText<HTMLInputElement>(/Replicas/);
    fireEvent.change(field, { target: { value: '' } });
    fireEvent.click(button('Scale'));
    expect([field.value, field.checkValidity(), page.written]).toEqual(['', false, []]);
  });

  it('keeps what was typed when the object changes', async () => {
    const page = await open(ScaleDialog, { object: { spec: { replicas: 2 } } });
    const field = screen.getByLabelText<HTMLInputElement>(/Replicas/);
    fireEvent.change(field, { target: { value: '7' } });
    page.change({ spec: { replicas: 3 } });
    expect(field.value).toBe('7');
    expect(screen.getByText('now 3')).toBeDefined();
  });
});

describe('restart', () => {
  it('changes the template, as kubectl does', async () => {
    const page = await open(RestartDialog, {});
    expect(command()).toBe('kubectl rollout restart deployments.apps web -n shop');
    fireEvent.click(button('Restart'));
    await closes(page);
    const annotations = { 'kubectl.kubernetes.io/restartedAt': expect.stringMatching(/T.*Z$/) };
    expect(page.written).toEqual([
      {
        method: 'PATCH',
        path: '/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=gantry-console',
        body: { spec: { template: { metadata: { annotations } } } },
      },
    ]);
  });

  it('is refused while the rollout is paused', async () => {
    await open(RestartDialog, { object: { spec: { paused: true } } });
    expect(button('Restart').disabled).toBe(true);
    expect(screen.getByText('kubectl rollout resume deployments.apps web -n shop')).toBeDefined();
  });

  it('says why the server refuses, and stays', async () => {
    const server = () => {
      throw new StatusError('Conflict', 'somebody else');
    };
    const page = await open(RestartDialog, { server });
    fireEvent.click(button('Restart'));
    await screen.findByText('somebody else');
    expect(page.closed).toEqual([]);
  });
});

describe('cordon', () => {
  it('keeps pods from a node, and lets them on it again', async () => {
    const page = await open(CordonDialog, { kind: NODES });
    expect(command()).toBe('kubectl cordon web');
    fireEvent.click(button('Cordon'));
    await closes(page);
    expect(page.written).toMatchObject([{ method: 'PATCH', body: { spec: { unschedulable: true } } }]);
  });

  it('ends', async () => {
    const page = await open(UncordonDialog, { kind: NODES, object: { spec: { unschedulable: true } } });
    expect(command()).toBe('kubectl uncordon web');
    fireEvent.click(button('Uncordon'));
    await closes(page);
    expect(page.written).toMatchObject([{ method: 'PATCH', body: { spec: { unschedulable: null } } }]);
  });

  it('has nothing to do when somebody else has done it', async () => {
    const page = await open(CordonDialog, { kind: NODES });
    expect(button('Cordon').disabled).toBe(false);
    page.change({ spec: { unschedulable: true } });
    expect(button('Cordon').disabled).toBe(true);
    expect(screen.getByText('It is cordoned already.')).toBeDefined();
  });
});

describe('roll back', () => {
  const REVISION = 'deployment.kubernetes.io/revision';
  const template = (version: number) => ({ spec: { containers: [{ name: 'main', image: `web:${version}` }] } });
  const deployment = (version: number, more: object = {}): Partial<AnyObject> => ({
    metadata: { name: 'web', uid: 'u', generation: version, annotations: { [REVISION]: `${version}` } },
    spec: { template: template(version), ...more },
  });
  const sets = (...versions: readonly number[]) => ({
    items: versions.map((version) => ({
      metadata: {
        name: `web-${version}`,
        annotations: { [REVISION]: `${version}`, 'kubernetes.io/change-cause': `cause ${version}` },
        ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'u', controller: true }],
      },
      spec: { template: template(version) },
    })),
  });

  it('goes to the revision that was offered, from the template that was seen, though a newer one has come', async () => {
    let known = sets(1, 2);
    const page = await open(RollBackDialog, { object: deployment(2), server: () => known });
    await waitFor(() => expect(button('Roll back to 1').disabled).toBe(false));
    known = sets(1, 2, 3);
    page.change(deployment(3));
    await screen.findByRole('option', { name: /^3 \(now\)/ });
    await screen.findByText(/web:3[^]*→[^]*web:1/);
    expect(command()).toBe('kubectl rollout undo deployments.apps web -n shop --to-revision=1');
    fireEvent.click(button('Roll back to 1'));
    await closes(page);
    expect(page.written.map(({ body }) => body)).toEqual([
      [
        { op: 'test', path: '/spec/template', value: template(3) },
        { op: 'replace', path: '/spec/template', value: { metadata: { labels: {} }, ...template(1) } },
        {
          op: 'add',
          path: '/metadata/annotations',
          value: { [REVISION]: '3', 'kubernetes.io/change-cause': 'cause 1' },
        },
      ],
    ]);
  });

  it('is refused while the rollout is paused', async () => {
    await open(RollBackDialog, { object: deployment(2, { paused: true }), server: () => sets(1, 2) });
    await waitFor(() => expect(button('Roll back to 1').disabled).toBe(true));
    expect(screen.getByText('kubectl rollout resume deployments.apps web -n shop')).toBeDefined();
  });
});

describe('delete', () => {
  /** Responds with these ConfigMaps, and with nothing of other kinds. */
  const listing =
    (items: readonly object[], metadata = {}) =>
    ({ path }: Sent) =>
      path.includes('/configmaps?') ? { items, metadata } : {};

  it('cannot be done, and says nothing of what goes, before the rights are known', async () => {
    const { promise, resolve } = Promise.withResolvers<readonly ResourceRule[]>();
    const items = [{ metadata: { name: 'settings', uid: 'c' } }];
    const server = listing(items);
    const kind = kindOf('namespaces', { isNamespaced: false });
    const page = await open(DeleteDialog, { kind, rules: promise, server });
    // That of the rights.
    await waitFor(() => expect(page.openReads()).toBe(1));
    expect(button('Delete').disabled).toBe(true);
    expect(screen.queryByText('Nothing else goes with it.')).toBeNull();
    resolve([{ verbs: ['list'], apiGroups: [''], resources: ['configmaps'] }]);
    await screen.findByText('At least 1 other object goes with it:');
    expect(screen.getByText('Without Deployment, Pod, which you may not list.')).toBeDefined();
    expect(button('Delete').disabled).toBe(false);
  });

  it('deletes the object that was seen, in the chosen way, and shows the others of its kind', async () => {
    const page = await open(DeleteDialog, {});
    await screen.findByText('Nothing else goes with it.');
    fireEvent.change(screen.getByLabelText(/Objects that it owns/), { target: { value: 'Orphan' } });
    expect(command()).toBe('kubectl delete deployments.apps web -n shop --cascade=orphan');
    fireEvent.click(button('Delete'));
    await waitFor(() => expect(page.address()).toBe('/objects/deployments.apps'));
    expect(page.written).toMatchObject([
      { method: 'DELETE', body: { propagationPolicy: 'Orphan', preconditions: { uid: 'u' } } },
    ]);
  });

  it('shows the first hundred of many that go, where the keyboard can scroll', async () => {
    const owned = (index: number) => ({
      metadata: { name: `settings-${index}`, uid: `${index}`, ownerReferences: [{ uid: 'u' }] },
    });
    const items = Array.from({ length: 120 }, (_, index) => owned(index));
    // Nothing has a size here.
    vi.spyOn(HTMLElement.prototype, 'scrollHeight', 'get').mockReturnValue(1);
    onTestFinished(() => void vi.restoreAllMocks());
    await open(DeleteDialog, { server: listing(items) });
    await screen.findByText('120 other objects go with it:');
    expect(
      screen
        .getAllByRole('listitem')
        .map(({ textContent }) => textContent)
        .slice(99),
    ).toEqual(['Configmap settings-99', 'and 20 more']);
    expect(screen.getByRole('region', { name: 'What goes with it' }).tabIndex).toBe(0);
  });

  it('reads so many objects of a kind, and says when there are more', async () => {
    const items = [{ metadata: { name: 'a', namespace: 'x', uid: 'a', ownerReferences: [{ uid: 'u' }] } }];
    const asked: string[] = [];
    const server = (sent: Sent) => {
      asked.push(sent.path);
      return listing(items, { continue: 'further' })(sent);
    };
    await open(DeleteDialog, { kind: NODES, server });
    await screen.findByText('At least 1 other object goes with it:');
    expect(screen.getByText('Only the first 500 of these kinds were read, so more may go: Configmap.')).toBeDefined();
    expect(new Set(asked.map((path) => path.split('?')[1]))).toEqual(new Set(['limit=500']));
    fireEvent.change(screen.getByLabelText(/Objects that it owns/), { target: { value: 'Orphan' } });
    expect(screen.getByText('Nothing else goes with it.')).toBeDefined();
  });

  it('does not say that nothing goes while there are kinds that the user may not list in all namespaces', async () => {
    const server = ({ path }: Sent) => {
      if (path.includes('/configmaps?')) throw new StatusError('Forbidden', 'only in one namespace');
      return {};
    };
    await open(DeleteDialog, { kind: NODES, server });
    await screen.findByText('Of what was read, nothing else goes with it.');
    expect(screen.getByText('Without Configmap, which you may not list.')).toBeDefined();
  });

  describe('a definition', () => {
    const kind = kindOf('customresourcedefinitions.apiextensions.k8s.io', { isNamespaced: false });
    const definition = (...versions: readonly object[]) => {
      const names = { plural: 'widgets', kind: 'Widget' };
      const spec = { group: 'example.com', scope: 'Namespaced', names, versions };
      return { metadata: { name: 'widgets.example.com', uid: 'd' }, spec };
    };
    const served = definition({ name: 'v1', served: false }, { name: 'v2', served: true });

    it('shows all its objects, whoever owns them and whether discovery lists them, and offers no other way', async () => {
      const items = ['a', 'b'].map((namespace) => ({ metadata: { name: 'same', namespace, uid: namespace } }));
      const asked: string[] = [];
      const server = ({ path }: Sent) => {
        asked.push(path);
        return { items };
      };
      await open(DeleteDialog, { kind, object: served, server });
      await screen.findByText('2 other objects go with it:');
      expect(screen.getAllByRole('listitem').map(({ textContent }) => textContent)).toEqual([
        'Widget a/same',
        'Widget b/same',
      ]);
      expect(asked).toEqual(['/apis/example.com/v2/widgets?limit=500']);
      expect(screen.queryByLabelText(/Objects that it owns/)).toBeNull();
    });

    it.each([
      ['who may not see its objects', served, 'You may not see what it owns.'],
      ['when nobody can', definition({ name: 'v1', served: false }), 'Cannot load what it owns.'],
    ])('does not tell that there are none: %s', async (_, object, text) => {
      const server = () => {
        throw new StatusError('Forbidden', 'not you');
      };
      const rules = [{ verbs: ['delete'], apiGroups: ['*'], resources: ['*'] }];
      await open(DeleteDialog, { kind, object, server, rules });
      await screen.findByText(text);
      expect(screen.queryByText(/goes with it/)).toBeNull();
      expect(button('Delete').disabled).toBe(false);
    });
  });

  it('leaves a person where they have gone meanwhile', async () => {
    const { promise, resolve } = Promise.withResolvers<object>();
    const page = await open(DeleteDialog, { server: ({ method }) => (method === 'DELETE' ? promise : {}) });
    await screen.findByText('Nothing else goes with it.');
    fireEvent.click(button('Delete'));
    await page.navigate('/');
    resolve({});
    await waitFor(() => expect(button('Delete').disabled).toBe(false));
    expect(page.address()).toBe('/');
  });
});

describe('drain', () => {
  const pod = (name: string) => ({
    metadata: { name, namespace: 'shop', uid: name },
    spec: { volumes: [{ name: 'scratch', emptyDir: {} }] },
  });
  const serverOf = (pods: () => readonly object[]) => (sent: Sent) =>
    sent.path.startsWith('/api/v1/pods') ? { items: pods() } : { items: [] };

  it('needs consent to what is lost, and evicts after the cordon', async () => {
    const page = await open(DrainDialog, { kind: NODES, server: serverOf(() => [pod('a')]) });
    await screen.findByText('shop/a');
    expect(button('Drain').disabled).toBe(true);
    fireEvent.click(screen.getByLabelText('I agree to what is lost'));
    expect(command()).toBe('kubectl drain web --ignore-daemonsets --delete-emptydir-data --force');
    fireEvent.click(button('Drain'));
    await screen.findByText('evicted');
    expect(page.written.map(({ method, path }) => `${method} ${path}`)).toEqual([
      'PATCH /api/v1/nodes/web?fieldManager=gantry-console',
      'POST /api/v1/namespaces/shop/pods/a/eviction',
    ]);
    expect(page.written[1]?.body).toMatchObject({ deleteOptions: { preconditions: { uid: 'a' } } });
  });

  it('evicts also the pods that came before the cordon', async () => {
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'r', controller: true };
    const harmless = (name: string) => ({
      metadata: { name, namespace: 'shop', uid: name, ownerReferences: [owner] },
      spec: {},
    });
    let pods = [harmless('a')];
    const page = await open(DrainDialog, { kind: NODES, server: serverOf(() => pods) });
    await screen.findByText('shop/a');
    pods = [harmless('a'), harmless('b')];
    fireEvent.click(button('Drain'));
    await waitFor(() => expect(screen.getAllByText('evicted')).toHaveLength(2));
    expect(page.written.map(({ path }) => path.split('/').at(-2))).toEqual(['nodes', 'a', 'b']);
  });

  it('asks again when a pod has come whose eviction loses something, and evicts nothing', async () => {
    let pods = [pod('a')];
    const page = await open(DrainDialog, { kind: NODES, server: serverOf(() => pods) });
    await screen.findByText('shop/a');
    const consent = screen.getByLabelText<HTMLInputElement>('I agree to what is lost');
    fireEvent.click(consent);
    pods = [pod('a'), pod('b')];
    fireEvent.click(button('Drain'));
    await screen.findByText(/pods have come whose eviction loses something: shop\/b/);
    expect([consent.checked, button('Drain').disabled]).toEqual([false, true]);
    expect(page.written.map(({ method }) => method)).toEqual(['PATCH']);
  });
});
