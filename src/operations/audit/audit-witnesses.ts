import { parseVerifier } from '@transferd/transparency-log'
import type { Witness } from '../../audit/integrity/checkpoint-publisher.js'
import { type Configuration, ConfigurationError } from '../configuration/configuration.js'

/** @throws ConfigurationError if a key does not match its id */
export function witnessesOf({ audit }: Configuration): readonly Witness[] {
  return audit.witnesses.map(({ url, verifierKey }) => {
    try {
      return { url, key: parseVerifier(verifierKey) }
    } catch (error) {
      throw new ConfigurationError([`AUDIT_WITNESSES contains an invalid key: ${(error as Error).message}`])
    }
  })
}
