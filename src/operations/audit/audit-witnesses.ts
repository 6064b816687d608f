import { parseVerifier } from '@transferd/transparency-log'
import type { Witness } from '../../audit/integrity/checkpoint-targets.js'
import { type Configuration, ConfigurationError } from '../configuration/configuration.js'

/** @throws ConfigurationError where a key does not have the id that it names */
export function witnessesOf({ audit }: Configuration): readonly Witness[] {
  return audit.witnesses.map(({ url, verifierKey }) => {
    try {
      return { url, key: parseVerifier(verifierKey) }
    } catch (error) {
      throw new ConfigurationError([`AUDIT_WITNESSES has a key that is none: ${(error as Error).message}`])
    }
  })
}
