import { getRouteApi } from '@tanstack/react-router'
import { useSession } from '../../app/current-session'
import { useMerchant } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Empty } from '../../components/Empty'
import { Segments } from '../../components/Segments'
import { Select } from '../../components/Select'
import { PointInTimeField } from './PointInTimeField'
import { StateAtTime } from './StateAtTime'

const route = getRouteApi('/pages/audit')

const kinds = ['merchant', 'statement'] as const

/** Shows a merchant's settings, keys and endpoint, or its statement, at a chosen time. */
export function MerchantHistory() {
  const text = useText()
  const { merchants } = useSession()
  const merchantId = useMerchant()
  const { of = 'merchant', at } = route.useSearch()
  const navigate = route.useNavigate()
  const go = (changes: object) => void navigate({ search: (previous) => ({ ...previous, ...changes }) })
  const kind = kinds.find((each) => each === of) ?? 'merchant'
  return (
    <>
      <div className="Audit-question">
        <Segments
          label={text('audit.subject')}
          options={kinds.map((value) => ({ value, label: text(`audit.subject.${value}`) }))}
          value={kind}
          onChange={(next) => go({ of: next })}
        />
        <Select
          label={text('fields.merchantId')}
          options={merchants.map((each) => ({ value: each.merchantId, label: each.name }))}
          placeholder={text('common.chooseMerchant')}
          {...(merchantId !== undefined && { value: merchantId })}
          onChange={(next) => go({ merchantId: next })}
        />
        <PointInTimeField at={at} onChange={(next) => go({ at: next })} />
      </div>
      {merchantId === undefined ? (
        <Empty title={text('common.chooseMerchant')}>{text('audit.whichMerchantHelp')}</Empty>
      ) : (
        <StateAtTime of={kind} id={merchantId} at={at} />
      )}
    </>
  )
}
