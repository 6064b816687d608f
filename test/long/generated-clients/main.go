package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	client "github.com/GIT_USER_ID/GIT_REPO_ID"
)

var ctx = context.Background()
var reference = os.Getenv("REFERENCE")
var shop = apis(os.Getenv("WEB_API_KEY"))
var settlement = apis(os.Getenv("SETTLEMENT_KEY")).SettlementAPI

func apis(key string) *client.APIClient {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Getenv("BASE_URL")}}
	configuration.AddDefaultHeader("WebApiKey", key)
	return client.NewAPIClient(configuration)
}

func must[Result any, Response any](result Result, response Response, err error) Result {
	if err != nil {
		panic(err)
	}
	return result
}

func deposit(referenceId string) client.ApiCreateNativeDepositRequest {
	request := client.NewCreateNativeDepositRequest(100.5, "8412", "Ada Lovelace", "ada", referenceId, 1, 1)
	request.SetHashCode(os.Getenv("DEPOSIT_HASH"))
	return shop.MerchantAPIAPI.CreateNativeDeposit(ctx).CreateNativeDepositRequest(*request)
}

// Reads the feed until it contains the completion of the transfer, and returns the types of the transfer's events.
func feedOf(trackingId string) (types []string) {
	request := shop.QueriesAPI.ListEvents(ctx)
	for !slices.Contains(types, "TransferCompleted") {
		page := must(request.Execute())
		for _, event := range page.Items {
			if event.TrackingId == trackingId {
				types = append(types, event.Type)
			}
		}
		if next, ok := page.GetNextOk(); ok && next != nil {
			request = request.After(*next)
		}
	}
	return types
}

func callbacksOf(trackingId string) []client.CallbackDelivery {
	for {
		if items := must(shop.QueriesAPI.GetTransferCallbacks(ctx, trackingId).Execute()).Items; len(items) > 0 {
			return items
		}
	}
}

func parse(text string) (*client.Callback, error) {
	callback := &client.Callback{}
	return callback, json.Unmarshal([]byte(text), callback)
}

func main() {
	created := must(deposit(reference).Execute()).Result
	trackingId := created.TrackingId
	repeated := must(deposit(reference).Execute()).Result
	_, _, err := deposit("another").Execute()
	failure := err.(*client.GenericOpenAPIError).Model().(client.Failure)

	login := client.NewWalletLoginRequest(trackingId, "test@wallet.example", "123456")
	token := must(shop.MerchantAPIAPI.WalletCustomerLogin(ctx).WalletLoginRequest(*login).Execute()).Result
	code := client.NewWalletCodeRequest(trackingId, token, "123456")
	verified := must(shop.MerchantAPIAPI.Wallet2Fa(ctx).WalletCodeRequest(*code).Execute()).Result
	completed := must(shop.QueriesAPI.GetTransfer(ctx, trackingId).Execute())
	list := shop.QueriesAPI.ListTransfers(ctx).ReferenceId(reference).Status(client.STATUSFILTER_COMPLETED)
	listed := []bool{}
	for _, transfer := range must(list.Execute()).Items {
		listed = append(listed, transfer.TrackingId == trackingId)
	}
	feed := feedOf(trackingId)
	callbacks := callbacksOf(trackingId)
	resent, response, err := shop.QueriesAPI.ResendTransferCallbacks(ctx, trackingId).Execute()
	must(resent, response, err)

	withdrawal := client.NewCreateWithdrawalRequest("TR330006100519786457841326", 100.5, "8412", "Ada Lovelace", "ada",
		reference+"-out", 1, 2, os.Getenv("WITHDRAWAL_HASH"))
	withdrawal.SetIdentityNumberNil()
	open := must(shop.MerchantAPIAPI.CreateWithdrawal(ctx).CreateWithdrawalRequest(*withdrawal).Execute()).Result.TrackingId
	action := client.NewWithdrawalActionRequest(must(shop.QueriesAPI.GetTransfer(ctx, open).Execute()).Revision)
	claimed := must(settlement.ClaimWithdrawal(ctx, open).WithdrawalActionRequest(*action).Execute())
	completion := client.NewCompleteWithdrawalRequest(claimed.Revision)
	completion.SetMessage("paid")
	paid := must(settlement.CompleteWithdrawal(ctx, open).CompleteWithdrawalRequest(*completion).Execute())

	callback, err := parse(os.Getenv("CALLBACK"))
	must(callback, response, err)
	var newerCallback any
	if newer, err := parse(os.Getenv("NEWER_CALLBACK")); err == nil {
		newerCallback = newer.Amount
	}
	text, _ := json.Marshal(map[string]any{
		"created":       created.StatusDescription,
		"amount":        created.Amount,
		"repeated":      repeated.TrackingId == trackingId,
		"refused":       failure.Error.Code,
		"nextStep":      verified.NextStep,
		"accountNumber": verified.AccountNumber,
		"completed":     []any{completed.Status, completed.StatusDescription, completed.TransactionAmount},
		"listed":        listed,
		"feed":          feed,
		"callbacks":     len(callbacks),
		"resent":        []any{response.StatusCode, resent.Requeued},
		"withdrawal":    []any{paid.StatusDescription, paid.IdentityNumber, paid.TransactionAmount},
		"callback":      []any{callback.Status, callback.Amount, callback.Message},
		"newerCallback": newerCallback,
	})
	fmt.Println(string(text))
}
