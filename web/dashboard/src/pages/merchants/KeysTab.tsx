import { useState } from 'react'
import type { KeyItem, MerchantItem, RotateRequest } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { usePermission } from '../../app/current-session'
import { useKnownText, useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { Confirm } from '../../components/Confirm'
import { type Column, DataTable } from '../../components/DataTable'
import { Empty } from '../../components/Empty'
import { Time } from '../../components/Time'
import { notify } from '../../components/Toasts'
import { CreateKeyDialog } from './CreateKeyDialog'
import { RotateDialog } from './RotateDialog'

const secrets = ['webApiKey', 'secretKey', 'webhookSecret'] as const

type Opened =
  | { readonly task: 'create' }
  | { readonly task: 'revoke'; readonly key: KeyItem }
  | { readonly task: 'rotate'; readonly secret: RotateRequest['secret'] }

export function KeysTab({ merchant }: { readonly merchant: MerchantItem }) {
  const text = useText()
  const canManage = usePermission('merchants:manage')
  const [opened, setOpened] = useState<Opened>()
  const { merchantId, keys } = merchant
  const columns = useColumns((key) => setOpened({ task: 'revoke', key }))
  const dialog = { merchantId, onClose: () => setOpened(undefined) }
  const create = <Button onPress={() => setOpened({ task: 'create' })}>{text('merchants.createKey')}</Button>
  return (
    <div className="stack">
      <Card title={text('fields.keys')} actions={canManage && create}>
        <p className="muted">{text('merchants.keysHelp')}</p>
        <DataTable
          label={text('fields.keys')}
          columns={columns}
          rows={keys}
          rowId={({ keyId }) => keyId}
          empty={<Empty title={text('merchants.noKeys')} />}
        />
      </Card>
      {canManage && (
        <Card title={text('merchants.secrets')}>
          <p className="muted">{text('merchants.secretsHelp')}</p>
          <div className="row">
            {secrets.map((secret) => (
              <Button key={secret} onPress={() => setOpened({ task: 'rotate', secret })}>
                {text('merchants.rotate', { secret: text(`merchants.secret.${secret}`) })}
              </Button>
            ))}
          </div>
        </Card>
      )}
      {opened?.task === 'create' && <CreateKeyDialog {...dialog} />}
      {opened?.task === 'revoke' && <RevokeConfirm apiKey={opened.key} {...dialog} />}
      {opened?.task === 'rotate' && <RotateDialog secret={opened.secret} {...dialog} />}
    </div>
  )
}

function useColumns(revoke: (key: KeyItem) => void): readonly Column<KeyItem>[] {
  const text = useText()
  const knownText = useKnownText()
  const canManage = usePermission('merchants:manage')
  const columns: Column<KeyItem>[] = [
    { id: 'name', header: text('fields.name'), card: 'title', cell: ({ name }) => <bdi>{name}</bdi> },
    { id: 'id', header: text('fields.keyId'), card: 'under', cell: ({ keyId }) => <code>{keyId}</code> },
    {
      id: 'scopes',
      header: text('fields.scopes'),
      card: 'name',
      cell: ({ scopes }) => scopes.map((scope) => knownText(`merchants.scope.${scope}`) ?? scope).join(', '),
    },
    { id: 'created', header: text('fields.createdAt'), cell: ({ createdAt }) => <Time at={createdAt} /> },
    {
      id: 'until',
      header: text('fields.validUntil'),
      card: 'end',
      cell: ({ validUntil }) => (validUntil === null ? text('merchants.untilRevoked') : <Time at={validUntil} />),
    },
  ]
  if (!canManage) return columns
  const cell = (key: KeyItem) => (
    <Button look="quiet" aria-label={text('merchants.revokeKey', { name: key.name })} onPress={() => revoke(key)}>
      {text('merchants.revoke')}
    </Button>
  )
  return [...columns, { id: 'actions', header: text('common.actions'), card: 'status', cell }]
}

interface RevokeConfirmProps {
  readonly merchantId: string
  readonly apiKey: KeyItem
  readonly onClose: () => void
}

function RevokeConfirm({ merchantId, apiKey: { keyId, name }, onClose }: RevokeConfirmProps) {
  const text = useText()
  const action = useAction<void, MerchantItem>({
    run: () => api.send<MerchantItem>('DELETE', `/merchants/${merchantId}/keys/${keyId}`),
    refresh: [['merchant', merchantId], ['merchants'], ['changes']],
    onSuccess: () => {
      notify(text('merchants.revoked', { name }))
      onClose()
    },
  })
  return (
    <Confirm
      title={text('merchants.revokeTitle', { name })}
      open
      onClose={onClose}
      onConfirm={() => action.start()}
      confirm={text('merchants.revoke')}
      danger
      pending={action.pending}
      error={action.error}
    >
      <p>{text('merchants.revokeHelp')}</p>
    </Confirm>
  )
}
