import t from 'tap'
import { type Evidence, openEvidence } from '../../../src/audit/evidence/evidence.js'
import { fileIn } from '../../../src/audit/evidence/zip.js'
import { destroyTestService } from '../../support/test-service.js'
import { startEvidenceWorld } from './evidence-scenarios.js'

const world = await startEvidenceWorld()
t.teardown(() => destroyTestService(world.service))

function opened(bytes: Buffer) {
  const evidence = JSON.parse(fileIn(bytes, 'evidence.json').toString()) as Evidence
  const text = (name: string) => fileIn(bytes, name).toString()
  return { ...openEvidence(evidence), text, en: text('report.html'), tr: text('report.tr.html') }
}
for (const make of ['withdrawal', 'correctedDeposit', 'walletDeposit', 'erasedCustomer'] as const) {
  const id = await world[make]()
  const bytes = await world.package(id, make === 'erasedCustomer' ? [] : ['name', 'account'])
  const { writeFileSync } = await import('node:fs')
  writeFileSync(`/tmp/ev/${make}.zip`, bytes)
  t.ok(opened(bytes).en)
}
