import { describe, expect, it } from 'vitest';
import { agentSettings, operatorSettings, parseOsRelease } from './config.ts';

describe('the settings of the operator', () => {
  it('are those of the original when there are none', () =>
    expect(operatorSettings({ UPDATE_OPERATOR_BEFORE_REBOOT_ANNOTATIONS: '' })).toEqual({
      maxRebooting: 1,
      beforeReboot: [],
      afterReboot: [],
      window: undefined,
    }));

  it('are read from the variables of the flags', () => {
    const settings = operatorSettings({
      UPDATE_OPERATOR_MAX_REBOOTING: '3',
      UPDATE_OPERATOR_BEFORE_REBOOT_ANNOTATIONS: 'example.com/a, b',
      UPDATE_OPERATOR_AFTER_REBOOT_ANNOTATIONS: 'c,',
      UPDATE_OPERATOR_REBOOT_WINDOW_START: '14:00',
      UPDATE_OPERATOR_REBOOT_WINDOW_LENGTH: '1h',
    });
    expect(settings).toMatchObject({ maxRebooting: 3, beforeReboot: ['example.com/a', 'b'], afterReboot: ['c'] });
    expect(settings.window?.lengthMs).toBe(3_600_000);
  });

  it.each([
    [{ UPDATE_OPERATOR_MAX_REBOOTING: '0' }, 'UPDATE_OPERATOR_MAX_REBOOTING: "0" is not an integer from 1'],
    [{ UPDATE_OPERATOR_MAX_REBOOTING: 'all' }, 'UPDATE_OPERATOR_MAX_REBOOTING'],
    [{ UPDATE_OPERATOR_AFTER_REBOOT_ANNOTATIONS: 'a b' }, 'UPDATE_OPERATOR_AFTER_REBOOT_ANNOTATIONS: "a b"'],
    [{ UPDATE_OPERATOR_REBOOT_WINDOW_START: '14:00' }, 'give both or none'],
  ])('%j are an error', (env, message) => expect(() => operatorSettings(env)).toThrow(message));
});

describe('the settings of the agent', () => {
  const env = { UPDATE_AGENT_NODE: 'n', POD_UID: 'u' };

  it('have defaults', () =>
    expect(agentSettings(env)).toMatchObject({ node: 'n', podUid: 'u', gracePeriodMs: 600_000, group: 'stable' }));

  it.each([
    [{ POD_UID: 'u' }, 'UPDATE_AGENT_NODE: is required'],
    [{ UPDATE_AGENT_NODE: 'n' }, 'POD_UID: is required'],
    [{ ...env, UPDATE_AGENT_GRACE_PERIOD: '1.5' }, 'UPDATE_AGENT_GRACE_PERIOD: "1.5"'],
  ])('%j are an error', (wrong, message) => expect(() => agentSettings(wrong)).toThrow(message));
});

it('reads os-release', () => {
  expect(parseOsRelease('NAME="Debian GNU/Linux"\nVERSION_ID="12"\nID=debian\n')).toEqual({
    id: 'debian',
    version: '12',
  });
  expect(parseOsRelease('ID="bad value!"\nNAME=x')).toEqual({ id: '', version: '' });
});
