import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Problem } from '../../components/Problem'

/** Saves a proof that the transfer's events are in the log. Anyone with the verifier key can check it. */
export function ProofDownload({ trackingId }: { readonly trackingId: string }) {
  const text = useText()
  const saving = useAction({ run: () => api.save(`/audit/proof/${encodeURIComponent(trackingId)}`) })
  return (
    <>
      <Button pending={saving.pending} onPress={() => saving.start()}>
        {text('audit.downloadProof')}
      </Button>
      <Problem error={saving.error} reading />
    </>
  )
}
