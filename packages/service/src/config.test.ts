import { describe, expect, it } from 'vitest';
import { ConfigError, readConfig } from './config.ts';

describe('reading a configuration', () => {
  it('returns typed, frozen values and fallbacks', () => {
    const config = readConfig({ HOSTS: ' a, b ,', PORT: '80', LEVEL: '' }, (read) => ({
      hosts: read.list('HOSTS'),
      port: read.integer('PORT', { min: 1, max: 65_535 }),
      level: read.oneOf('LEVEL', ['info', 'warn'], 'info'),
      name: read.text('NAME', 'x'),
    }));
    expect(config).toEqual({ hosts: ['a', 'b'], port: 80, level: 'info', name: 'x' });
    expect(Object.isFrozen(config) && Object.isFrozen(config.hosts)).toBe(true);
  });

  it.each([
    [{}, 'PORT: is required, but not set'],
    [{ PORT: '0' }, 'PORT: "0" is not a whole number from 1 to 10'],
    [{ PORT: '1.5' }, 'PORT: "1.5" is not a whole number from 1 to 10'],
    [{ PORT: 'x' }, 'PORT: "x" is not a whole number from 1 to 10'],
  ])('names the variable that is wrong in %j', (environment, message) => {
    const read = () => readConfig(environment, (reader) => ({ port: reader.integer('PORT', { min: 1, max: 10 }) }));
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(message);
  });
});
