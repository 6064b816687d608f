import { execFile, execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { callbackBody } from '../../src/domain/callback.js'
import { hashCode } from '../../src/security/api-keys.js'
import { listedService } from '../support/listed-service.js'

/** The jar of openapi-generator-cli. */
const generator = process.env.TEST_OPENAPI_GENERATOR ?? ''
const run = promisify(execFile)

const has = (command: string, ...args: string[]) => {
  try {
    return execFileSync(command, args, { stdio: 'ignore' }) !== undefined
  } catch {
    return false
  }
}
const skipped = (command: string, ...args: string[]) =>
  !existsSync(generator) ? 'TEST_OPENAPI_GENERATOR is not set' : !has(command, ...args) && `${command} is not installed`

/** Generates a client, and the values that its program needs. */
async function generated(t: Test, language: string, ...options: string[]) {
  const { baseUrl, webApiKey, secretKey, trackingIds } = await listedService(t)
  const directory = t.testdir({})
  const input = `${baseUrl}/documentation/openapi-3.0.json`
  const program = ['-jar', generator, 'generate', '-g', language, '-i', input, '-o', directory, ...options]
  await run('java', program, { maxBuffer: 64 * 1024 * 1024 })
  const payload = {
    referenceId: 'r',
    message: null,
    amountMinor: 100_50n,
    transactionAmountMinor: 0n,
    receiptUrl: null,
  }
  const callback = callbackBody({ ...payload, status: 2, hasAmountMismatch: false }, trackingIds[0]!, () =>
    '0'.repeat(32),
  )
  const hash = hashCode(secretKey, '100.5', 'generated-1')
  return { directory, trackingIds, values: { baseUrl, webApiKey, hash, trackingId: trackingIds[0]!, callback } }
}

const expected = (trackingIds: readonly string[]) => ({
  created: 'Pending',
  repeated: true,
  amount: 100.5,
  refused: 40003,
  listed: trackingIds.length + 1,
  resent: 404,
  callback: { status: 2, amount: 100.5 },
})

t.test(
  'a generated Go client creates, lists, resends and reads callbacks',
  { skip: skipped('go', 'version') },
  async (t) => {
    const properties = 'enumUnknownDefaultCase=true,enumClassPrefix=true,packageName=client'
    const options = ['--type-mappings', 'number=float64', '--additional-properties', properties]
    const { directory, trackingIds, values } = await generated(t, 'go', ...options)
    const module = 'github.com/GIT_USER_ID/GIT_REPO_ID'
    const source = `package main

import (
	"context"
	"encoding/json"
	"fmt"

	client "${module}"
)

func main() {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: ${JSON.stringify(values.baseUrl)}}}
	configuration.AddDefaultHeader("WebApiKey", ${JSON.stringify(values.webApiKey)})
	api := client.NewAPIClient(configuration)
	ctx := context.Background()
	deposit := client.NewCreateNativeDepositRequest(100.5, "8412", "Ada Lovelace", "ada", "generated-1", 1, 1)
	deposit.SetHashCode(${JSON.stringify(values.hash)})
	first, _, err := api.MerchantAPIAPI.CreateNativeDeposit(ctx).CreateNativeDepositRequest(*deposit).Execute()
	if err != nil {
		panic(err)
	}
	again, _, err := api.MerchantAPIAPI.CreateNativeDeposit(ctx).CreateNativeDepositRequest(*deposit).Execute()
	if err != nil {
		panic(err)
	}
	deposit.SetReferenceId("another")
	_, _, err = api.MerchantAPIAPI.CreateNativeDeposit(ctx).CreateNativeDepositRequest(*deposit).Execute()
	failure := err.(*client.GenericOpenAPIError).Model().(client.Failure)
	page, _, err := api.QueriesAPI.ListTransfers(ctx).Limit(100).Execute()
	if err != nil {
		panic(err)
	}
	listed := 0
	for _, transfer := range page.Items {
		if transfer.ReferenceId != "generated-1" {
			listed++
		}
	}
	_, response, _ := api.QueriesAPI.ResendTransferCallbacks(ctx, ${JSON.stringify(values.trackingId)}).Execute()
	callback := client.Callback{}
	if err := json.Unmarshal([]byte(${JSON.stringify(values.callback)}), &callback); err != nil {
		panic(err)
	}
	text, _ := json.Marshal(map[string]any{
		"created": first.Result.StatusDescription, "amount": first.Result.Amount,
		"repeated": first.Result.TrackingId == again.Result.TrackingId, "refused": failure.Error.Code,
		"listed": listed, "resent": response.StatusCode,
		"callback": map[string]any{"status": callback.Status, "amount": callback.Amount},
	})
	fmt.Println(string(text))
}
`
    execFileSync('mkdir', [join(directory, 'program')])
    writeFileSync(join(directory, 'program', 'main.go'), source)
    const env = { ...process.env, GOFLAGS: '-mod=mod', GOTOOLCHAIN: 'local' }
    const { stdout } = await run('go', ['run', './program'], { cwd: directory, env })
    t.same(JSON.parse(stdout), expected(trackingIds))
  },
)

t.test('a generated Python client does the same', { skip: skipped('python3', '-m', 'venv', '--help') }, async (t) => {
  const options = ['--additional-properties', 'enumUnknownDefaultCase=true']
  const { directory, trackingIds, values } = await generated(t, 'python', ...options)
  await run('python3', ['-m', 'venv', join(directory, 'venv')])
  const python = join(directory, 'venv', 'bin', 'python')
  await run(python, ['-m', 'pip', 'install', '--quiet', '-r', join(directory, 'requirements.txt')])
  const source = `
import json
from openapi_client import ApiClient, Configuration, MerchantAPIApi, QueriesApi, CreateNativeDepositRequest, Callback
from openapi_client.exceptions import ApiException

values = json.loads(${JSON.stringify(JSON.stringify(values))})
client = ApiClient(Configuration(host=values['baseUrl']))
client.set_default_header('WebApiKey', values['webApiKey'])
merchant, queries = MerchantAPIApi(client), QueriesApi(client)
def deposit(reference):
    return CreateNativeDepositRequest(amount=100.5, userId='8412', name='Ada Lovelace', username='ada', referenceId=reference,
                         paymentMethod=1, transactionType=1, hashCode=values['hash'])
first = merchant.create_native_deposit(deposit('generated-1'))
again = merchant.create_native_deposit(deposit('generated-1'))
try:
    merchant.create_native_deposit(deposit('another'))
except ApiException as error:
    refused = error.data.error.code
try:
    resent = queries.resend_transfer_callbacks_with_http_info(values['trackingId']).status_code
except ApiException as error:
    resent = error.status
listed = [each for each in queries.list_transfers(limit=100).items if each.reference_id != 'generated-1']
callback = Callback.from_json(values['callback'])
print(json.dumps({
    'created': first.result.status_description, 'amount': first.result.amount,
    'repeated': first.result.tracking_id == again.result.tracking_id, 'refused': refused,
    'listed': len(listed), 'resent': resent,
    'callback': {'status': callback.status, 'amount': callback.amount},
}))
`
  writeFileSync(join(directory, 'program.py'), source)
  const { stdout } = await run(python, ['program.py'], { cwd: directory })
  t.same(JSON.parse(stdout), expected(trackingIds))
})
