import { useState } from 'react'
import type { AuditManifestResponse } from '../../../../../src/http/dashboard/audit/audit-api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useMerchant, useMerchantName } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { CopyableId } from '../../components/Copyable'
import { DateRange } from '../../components/DateRange'
import { Facts } from '../../components/Facts'
import { Problem } from '../../components/Problem'
import { Segments } from '../../components/Segments'
import { Time } from '../../components/Time'

const formats = ['ndjson', 'csv'] as const
type Format = AuditManifestResponse['format']

/** Requests the manifest first. The manifest fixes the end of the export, so the downloaded file contains exactly the listed events. */
export function AuditExport() {
  const text = useText()
  const merchantId = useMerchant()
  const merchantName = useMerchantName()
  const [period, setPeriod] = useState<{ readonly from?: string; readonly to?: string }>({})
  const [format, setFormat] = useState<Format>('ndjson')
  const [manifest, setManifest] = useState<AuditManifestResponse>()
  const prepare = useAction<void, AuditManifestResponse>({
    run: () => api.get<AuditManifestResponse>('/audit/manifest', { merchantId, ...period, format }),
    onSuccess: setManifest,
  })
  return (
    <div className="Audit-columns">
      <Card title={text('audit.export')}>
        <p>{text('audit.exportHelp')}</p>
        <p>
          {merchantId === undefined
            ? text('audit.exportAllMerchants')
            : text('audit.exportMerchant', { merchant: merchantName(merchantId) })}
        </p>
        <DateRange {...period} onChange={setPeriod} />
        <Segments
          label={text('audit.format')}
          options={formats.map((value) => ({ value, label: text(`audit.format.${value}`) }))}
          value={format}
          onChange={(next) => setFormat(next === 'csv' ? 'csv' : 'ndjson')}
        />
        <Problem error={prepare.error} reading />
        <div className="row">
          <Button look="primary" pending={prepare.pending} onPress={() => prepare.start()}>
            {text('audit.prepare')}
          </Button>
        </div>
      </Card>
      {manifest && <Manifest manifest={manifest} />}
    </div>
  )
}

function Manifest({ manifest }: { readonly manifest: AuditManifestResponse }) {
  const text = useText()
  const merchantName = useMerchantName()
  const { format, merchantId, from, to, until, events, firstPosition, lastPosition, files } = manifest
  const search = {
    format,
    merchantId: merchantId ?? undefined,
    from: from ?? undefined,
    to: to ?? undefined,
    until: until ?? undefined,
  }
  return (
    <Card title={text('audit.contents')}>
      <Facts
        items={[
          {
            label: text('fields.merchantId'),
            value: merchantId === null ? text('common.all') : merchantName(merchantId),
          },
          { label: text('common.from'), value: from && <Time at={from} exact /> },
          { label: text('audit.before'), value: to && <Time at={to} exact /> },
          { label: text('audit.events'), value: text('common.count', { count: events }) },
          {
            label: text('audit.positions'),
            value: firstPosition && <code>{`${firstPosition} – ${lastPosition}`}</code>,
          },
        ]}
      />
      <ul className="Audit-files">
        {files.map((file) => (
          <li key={file.name}>
            <strong>{file.name}</strong>
            <span className="muted">{text('audit.fileHolds', { events: file.events, bytes: file.bytes })}</span>
            <CopyableId value={file.sha256} label={text('audit.sha256', { file: file.name })} />
          </li>
        ))}
      </ul>
      <div className="row">
        <a className="Button Button-primary" href={api.href('/audit/export', search)} download>
          {text('audit.download')}
        </a>
        <a className="Button Button-plain" href={api.href('/audit/manifest', search)} download="manifest.json">
          {text('audit.downloadManifest')}
        </a>
      </div>
    </Card>
  )
}
