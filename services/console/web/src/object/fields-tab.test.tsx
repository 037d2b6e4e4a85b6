// @vitest-environment happy-dom
import { fireEvent, screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { expectAccessible } from '../testing/axe.ts';
import { DEPLOYMENTS } from '../testing/kinds.ts';
import { renderInConsole } from '../testing/render.tsx';
import { FieldsTab } from './fields-tab.tsx';

it('leads from the keyboard to who changed a field', async () => {
  const by = (manager: string, field: string) => ({
    manager,
    operation: 'Update',
    time: '2026-01-01T00:00:00Z',
    fieldsV1: { 'f:spec': { [`f:${field}`]: {} } },
  });
  const metadata = { name: 'web', uid: 'u', managedFields: [by('kubectl-scale', 'replicas'), by('helm', 'paused')] };
  const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata } as Parameters<typeof FieldsTab>[0]['object'];
  await renderInConsole(<FieldsTab kind={DEPLOYMENTS} namespace="shop" name="web" object={object} />, {
    server: () => ({}),
  });
  fireEvent.keyDown(document.body, { key: '/' });
  const field = screen.getByLabelText<HTMLInputElement>('Filter fields');
  expect(document.activeElement).toBe(field);
  fireEvent.change(field, { target: { value: 'replicas' } });
  expect(screen.getAllByRole('row').map(({ textContent }) => textContent)).toEqual([
    'FieldManagerByLast write',
    expect.stringContaining('.spec.replicaskubectl-scaleUpdate'),
  ]);
  await expectAccessible();
});
