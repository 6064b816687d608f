/** Writes the generated parts of the clients: `npm run sdks:generate`. */
import { readFileSync, writeFileSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { destroyTestService, startTestService } from '../../test/support/test-service.js'
import { apiOf, type Document } from './api-model.js'
import { pythonApi } from './python-api.js'
import { typescriptApi } from './typescript-api.js'

/** Returns the text of each generated file. */
export function generatedFiles(document: Document): { readonly [path: string]: string } {
  const api = apiOf(document)
  return {
    'sdks/typescript/src/api.ts': typescriptApi(api),
    'sdks/python/src/transferd/api.py': pythonApi(api),
  }
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const service = await startTestService()
  const document = (await service.app.inject('/documentation/json')).json<Document>()
  await destroyTestService(service)
  for (const [path, text] of Object.entries(generatedFiles(document))) {
    const before = readFileSync(path, { encoding: 'utf8', flag: 'a+' })
    if (before !== text) writeFileSync(path, text)
    console.log(`${path}: ${before === text ? 'unchanged' : 'written'}`)
  }
}
